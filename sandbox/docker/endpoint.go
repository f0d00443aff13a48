package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/moby/moby/client"
)

// endpoint is where a daemon is said to listen.
type endpoint struct {
	host   string // such as unix:///var/run/docker.sock
	source string // what says so, for messages
	keys   string // folder of ca.pem, cert.pem and key.pem, "" without TLS
	env    bool   // whether DOCKER_CERT_PATH and DOCKER_TLS_VERIFY count
}

// local tells whether the daemon sees the same files as this process.
func (p endpoint) local() bool { return strings.HasPrefix(p.host, "unix://") }

// find looks where the docker command looks, in the same order, and then for
// the socket of a daemon of this user before that of root's.
func find(host string) (endpoint, error) {
	if host != "" {
		return endpoint{host: host, source: "options"}, nil
	}
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		return endpoint{host: host, source: client.EnvOverrideHost, env: true}, nil
	}
	folder := os.Getenv("DOCKER_CONFIG")
	if folder == "" {
		if home, err := os.UserHomeDir(); err == nil {
			folder = filepath.Join(home, ".docker")
		}
	}
	name, err := currentContext(folder)
	if err != nil {
		return endpoint{}, err
	}
	if name != "" && name != "default" {
		return contextEndpoint(folder, name)
	}
	if socket := userSocket(); socket != "" {
		return endpoint{host: "unix://" + socket, source: "the user's socket"}, nil
	}
	return endpoint{host: client.DefaultDockerHost, source: "docker's default"}, nil
}

// userSocket is the socket of a rootless daemon, "" if there is none.
func userSocket() string {
	folders := []string{os.Getenv("XDG_RUNTIME_DIR")}
	// A program that a desktop has started may not have the variable.
	if runtime.GOOS == "linux" && os.Getuid() > 0 {
		folders = append(folders, fmt.Sprintf("/run/user/%d", os.Getuid()))
	}
	for _, folder := range folders {
		socket := filepath.Join(folder, "docker.sock")
		if info, err := os.Stat(socket); folder != "" && err == nil && info.Mode()&fs.ModeSocket != 0 {
			return socket
		}
	}
	return ""
}

// currentContext is the name of the context in use, "" if none is chosen.
func currentContext(folder string) (string, error) {
	if name := os.Getenv("DOCKER_CONTEXT"); name != "" {
		return name, nil
	}
	path := filepath.Join(folder, "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var file struct {
		CurrentContext string `json:"currentContext"`
	}
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return "", fmt.Errorf("reading docker's %s: %w; mend it, or set DOCKER_HOST", path, err)
	}
	return file.CurrentContext, nil
}

// contextEndpoint reads a context from docker's store: its folder is named
// after the digest of its name.
func contextEndpoint(folder, name string) (endpoint, error) {
	digest := sha256.Sum256([]byte(name))
	key := hex.EncodeToString(digest[:])
	text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", key, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, fmt.Errorf("docker's context %q is not there; choose one of docker context ls, or set DOCKER_HOST", name)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("reading docker's context %q: %w; make it anew with docker context create", name, err)
	}
	p := endpoint{host: meta.Endpoints["docker"].Host, source: fmt.Sprintf("context %q", name)}
	if p.host == "" {
		return endpoint{}, fmt.Errorf("docker's context %q has no docker endpoint; make it anew with docker context create", name)
	}
	keys := filepath.Join(folder, "contexts", "tls", key, "docker")
	if _, err := os.Stat(keys); err == nil {
		p.keys = keys
	}
	return p, nil
}

// open makes a client. It does not connect yet.
func (p endpoint) open() (*client.Client, error) {
	if strings.HasPrefix(p.host, "ssh://") {
		return nil, fmt.Errorf("docker at %s (%s) is reached by ssh, which the bridge does not speak; forward its socket with ssh -nNT -L and set DOCKER_HOST", display(p.host), p.source)
	}
	var options []client.Opt
	if p.env {
		options = append(options, client.WithTLSClientConfigFromEnv())
	}
	if p.keys != "" {
		// Each of the files may be missing, as in docker's own store.
		file := func(name string) string {
			path := filepath.Join(p.keys, name)
			if _, err := os.Stat(path); err != nil {
				return ""
			}
			return path
		}
		options = append(options, client.WithTLSClientConfig(file("ca.pem"), file("cert.pem"), file("key.pem")))
	}
	options = append(options, client.WithHost(p.host), client.WithAPIVersionFromEnv())
	c, err := client.New(options...)
	if err != nil {
		return nil, fmt.Errorf("docker at %s (%s): %w; set DOCKER_HOST to the address of a daemon", display(p.host), p.source, err)
	}
	return c, nil
}
