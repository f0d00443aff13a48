// Package reaper is the small process that removes what a killed bridge has
// left on a docker daemon. A container is the child of no process of ours, and
// one that was made and not yet started would stay for ever.
//
// The bridge starts itself again under the name Name; this package then takes
// over before main. It imports the standard library only, and it knows no
// more of docker than how to list and to remove containers by a label.
package reaper

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"time"
)

const (
	// Name is argv[0] of a reaper.
	Name = "bridge-docker-reaper"

	// Ready is the line that it writes when it has understood its orders.
	Ready = "ready\n"

	// Done is the line that tells it that nothing is left to remove.
	Done = "done\n"

	// late is how long a container may take to appear that docker was asked
	// for just before the bridge was killed.
	late = 3 * time.Second

	// often is the time between two looks.
	often = 200 * time.Millisecond

	// enough bounds one request, and how long a daemon may be away.
	enough = 20 * time.Second
)

// Orders are the first line that a reaper reads, as JSON.
type Orders struct {
	Socket string // of the daemon
	API    string // version of its interface
	Label  string // NAME=VALUE of the containers to remove
}

// init runs the reaper, and does not return, in a process started as one.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		debug.SetGCPercent(20)
		os.Exit(run(os.Stdin, os.Stdout))
	}
}

func run(in io.Reader, out io.WriteCloser) int {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	var o Orders
	if err != nil || json.Unmarshal(line, &o) != nil {
		return 1
	}
	fmt.Fprint(out, Ready)
	out.Close()
	if word, _ := lines.ReadString('\n'); word == Done {
		return 0
	}
	o.obey()
	return 0
}

// obey removes the containers, and those that still appear.
func (o Orders) obey() {
	client := &http.Client{Timeout: enough, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
		},
	}}
	for begun := time.Now(); ; time.Sleep(often) {
		err := o.remove(client)
		if past := time.Since(begun); past > late && (err == nil || past > enough) {
			return
		}
	}
}

// remove asks which containers there are, and has them killed and removed.
func (o Orders) remove(client *http.Client) error {
	base := "http://docker/v" + o.API + "/containers/"
	filters, err := json.Marshal(map[string][]string{"label": {o.Label}})
	if err != nil {
		return err
	}
	response, err := client.Get(base + "json?all=1&filters=" + url.QueryEscape(string(filters)))
	if err != nil {
		return err
	}
	var all []struct {
		ID string `json:"Id"`
	}
	err = json.NewDecoder(response.Body).Decode(&all)
	response.Body.Close()
	if err != nil {
		return err
	}
	for _, c := range all {
		request, err := http.NewRequest(http.MethodDelete, base+url.PathEscape(c.ID)+"?force=1&v=1", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	if len(all) > 0 {
		return fmt.Errorf("%d containers were there", len(all)) // look again
	}
	return nil
}
