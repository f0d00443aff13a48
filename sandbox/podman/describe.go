package podman

import (
	"context"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/containers/podman/v5/pkg/bindings"
)

// Describe tells what podman is. If none answers, it starts one. The spec says
// whether one that runs as root may be asked.
func (e *Engine) Describe(ctx context.Context, spec sandbox.Spec) (container.Facts, error) {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return container.Facts{}, err
	}
	info, err := s.about(ctx)
	if err != nil {
		return container.Facts{}, err
	}
	host := info.Host
	return container.Facts{
		Endpoint: s.place.name,
		Version:  info.Version.Version,
		API:      bindings.ServiceVersion(s.conn).String(),
		Rootless: host.Security.Rootless,
		Cgroup:   strings.TrimPrefix(host.CgroupsVersion, "v"),
		Limits:   hostOf(info).holds(),
	}, nil
}
