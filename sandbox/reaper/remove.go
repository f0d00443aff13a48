package reaper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

const (
	// late is how long a container may take to appear that the engine was
	// asked for just before the bridge was killed.
	late = 3 * time.Second

	// often is how much time is left between two looks.
	often = 200 * time.Millisecond

	// enough bounds one request, and how long an engine may be away.
	enough = 20 * time.Second
)

// obey removes the containers, and those that still appear: through the engine,
// or by podman's program where the service has gone with the bridge.
func (o Orders) obey() {
	client := &http.Client{Timeout: enough, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
		},
	}}
	for begun := time.Now(); ; time.Sleep(often) {
		err := o.remove(client)
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" && o.Podman != "" {
			o.removeByProgram()
			return
		}
		if past := time.Since(begun); past > late && (err == nil || past > enough) {
			return
		}
	}
}

// remove asks which containers there are, and has them killed and removed.
func (o Orders) remove(client *http.Client) error {
	base := "http://engine" + o.Containers
	filters, err := json.Marshal(map[string][]string{"label": {o.Label}})
	if err != nil {
		return err
	}
	response, err := client.Get(base + "/json?all=true&filters=" + url.QueryEscape(string(filters)))
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
		request, err := http.NewRequest(http.MethodDelete, base+"/"+url.PathEscape(c.ID)+"?"+o.Force, nil)
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

// removeByProgram does the same without a service.
func (o Orders) removeByProgram() {
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	out, err := exec.CommandContext(ctx, o.Podman, "--remote=false", "ps", "-a", "-q", "--no-trunc", "--filter", "label="+o.Label).Output()
	if ids := strings.Fields(string(out)); err == nil && len(ids) > 0 {
		exec.CommandContext(ctx, o.Podman, append([]string{"--remote=false", "rm", "-f", "-i", "-t", "0"}, ids...)...).Run()
	}
}
