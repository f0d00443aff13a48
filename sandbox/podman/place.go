package podman

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containers/podman/v5/pkg/bindings"
	"go.podman.io/common/pkg/config"
)

// rootSocket is the socket of the service that runs as root.
const rootSocket = "/run/podman/podman.sock"

// A place is where a service may be listening.
type place struct {
	name    string // in messages
	options bindings.Options
	asked   bool // somebody has named it: no other is tried in its stead
	guest   bool // in a virtual machine: root there is not root here
	usual   bool // where podman listens by itself
	own     bool // of a service that we have started
}

// socket is the path of a place that is a socket of this machine, else "".
func (p place) socket() string {
	path, ok := strings.CutPrefix(p.options.URI, "unix://")
	if !ok {
		return ""
	}
	return filepath.Join("/", path)
}

// unixPlace is a socket where podman listens by itself.
func unixPlace(path string) place {
	return place{name: path, options: bindings.Options{URI: "unix://" + path}, usual: true}
}

// places are where to look, in order. What somebody has named is the only one.
func places(rootful bool) ([]place, error) {
	if uri := os.Getenv("CONTAINER_HOST"); uri != "" {
		return []place{{
			name:    "CONTAINER_HOST=" + uri,
			options: bindings.Options{URI: uri, Identity: os.Getenv("CONTAINER_SSHKEY")},
			asked:   true,
		}}, nil
	}
	if name := os.Getenv("CONTAINER_CONNECTION"); name != "" {
		found, err := connection(name, false)
		if err != nil {
			return nil, fmt.Errorf("CONTAINER_CONNECTION=%s: %w; podman system connection ls shows which there are", name, err)
		}
		found.asked = true
		return []place{found}, nil
	}
	var all []place
	if os.Geteuid() != 0 {
		if dir := runtimeDir(); dir != "" {
			all = append(all, unixPlace(filepath.Join(dir, "podman", "podman.sock")))
		}
	}
	// The default connection is podman machine's, where there is one.
	if found, err := connection("", true); err == nil {
		all = append(all, found)
	}
	if os.Geteuid() == 0 || rootful {
		all = append(all, unixPlace(rootSocket))
	}
	return all, nil
}

// runtimeDir is where an ordinary user's sockets are, "" if nowhere.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	dir := fmt.Sprintf("/run/user/%d", os.Geteuid())
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return ""
}

// connection is one of podman's own list: podman-connections.json and the
// service destinations of containers.conf.
func connection(name string, byDefault bool) (place, error) {
	conf, err := config.New(nil)
	if err != nil {
		return place{}, fmt.Errorf("reading containers.conf: %w", err)
	}
	c, err := conf.GetConnection(name, byDefault)
	if err != nil {
		return place{}, err
	}
	return place{
		name: fmt.Sprintf("connection %s (%s)", c.Name, c.URI),
		options: bindings.Options{
			URI: c.URI, Identity: c.Identity, Machine: c.IsMachine,
			TLSCertFile: c.TLSCert, TLSKeyFile: c.TLSKey, TLSCAFile: c.TLSCA,
		},
		guest: c.IsMachine,
	}, nil
}
