package cli

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"

	"bridge/bridge"
	"bridge/policy"
	"bridge/sandbox/engines"
)

// inContainer reports whether this process runs in a container.
func inContainer() bool {
	if os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return true
	}
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// sayInside says which engines can work for a profile in the container that this
// process runs in, and with which flags of it more of them can.
func (c *choice) sayInside(p *policy.Profile, log *slog.Logger) {
	if !log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	flags := map[string]string{
		"native": "native: --security-opt seccomp=unconfined, and Python in the image",
		"docker": "docker: -v /var/run/docker.sock:/var/run/docker.sock, and --group-add with the group of the socket",
		"podman": "podman: -v /run/podman/podman.sock:/run/podman/podman.sock",
	}
	var ready, more []string
	for _, e := range engines.Named(c.engines(slog.New(slog.DiscardHandler)), p.Engine) {
		err := e.Ready(context.Background(), bridge.Spec(p))
		e.Close()
		switch {
		case err == nil:
			ready = append(ready, e.Name())
		case strings.Contains(err.Error(), "rootful: true"):
			more = append(more, e.Name()+": rootful: true in the profile")
		case strings.Contains(err.Error(), "image build"):
			more = append(more, e.Name()+": its image, made by bridge image build")
		case flags[e.Name()] != "":
			more = append(more, flags[e.Name()])
		}
	}
	log.Info("this is a container", "engines that can work", cmp.Or(strings.Join(ready, ", "), "none"), "flags for more", strings.Join(more, "; "))
}
