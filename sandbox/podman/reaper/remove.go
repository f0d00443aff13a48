package reaper

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

const (
	// late is how long a container may take to appear that the service was
	// asked for just before the bridge was killed.
	late = 3 * time.Second

	// often is how much time is left between two looks.
	often = 200 * time.Millisecond

	// enough bounds one call.
	enough = 10 * time.Second
)

// remove ends and removes the containers of the owner: through the service,
// or by the program where the service has gone with the bridge.
func remove(o Orders) {
	client := &http.Client{Timeout: enough, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
		},
	}}
	for begun := time.Now(); ; time.Sleep(often) {
		err := removeBy(client, o.Owner)
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" && o.Podman != "" {
			removeWith(o)
			return
		}
		if time.Since(begun) > late && (err == nil || time.Since(begun) > 2*enough) {
			return
		}
	}
}

// removeBy asks the service which containers there are, and to remove them.
func removeBy(client *http.Client, owner string) error {
	const base = "http://d/v4.0.0/libpod/containers/"
	filters, err := json.Marshal(map[string][]string{"label": {Label + "=" + owner}})
	if err != nil {
		return err
	}
	response, err := client.Get(base + "json?all=true&filters=" + url.QueryEscape(string(filters)))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var all []struct {
		ID string `json:"Id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return err
	}
	for _, c := range all {
		request, err := http.NewRequest(http.MethodDelete, base+url.PathEscape(c.ID)+"?force=true&ignore=true&timeout=0", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	return nil
}

// removeWith does the same without a service.
func removeWith(o Orders) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*enough)
	defer cancel()
	out, err := exec.CommandContext(ctx, o.Podman, "--remote=false", "ps", "-a", "-q", "--no-trunc", "--filter", "label="+Label+"="+o.Owner).Output()
	if ids := strings.Fields(string(out)); err == nil && len(ids) > 0 {
		exec.CommandContext(ctx, o.Podman, append([]string{"--remote=false", "rm", "-f", "-i", "-t", "0"}, ids...)...).Run()
	}
}
