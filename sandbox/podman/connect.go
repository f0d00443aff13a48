package podman

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/reaper"

	"github.com/containers/podman/v5/pkg/bindings"
)

const (
	// patience bounds what one service may take to answer.
	patience = 10 * time.Second

	// recall bounds what it may take to tell about itself: it asks the machine's
	// package manager which versions it has of what, and a machine that is busy
	// takes long over that.
	recall = 30 * time.Second
)

// A service is a podman that answered.
type service struct {
	place   place
	conn    context.Context // carries the connection, as the bindings want it
	host    host
	apart   bool           // whether this process is in a container, and the service is not
	keeper  *reaper.Keeper // nil for a service that a reaper cannot reach
	rootful bool           // whether it was sought with leave to run as root
}

// with gives a context the connection.
func (s *service) with(ctx context.Context) context.Context {
	return joined{Context: ctx, conn: s.conn}
}

// joined ends with the one context and has the values of the other as well:
// the bindings keep the connection in the context of the call.
type joined struct {
	context.Context
	conn context.Context
}

func (j joined) Value(key any) any {
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.conn.Value(key)
}

// local tells whether the service sees the files and the processes that we see.
func (s *service) local() bool { return s.place.socket() != "" && !s.place.guest && !s.apart }

// close gives back the connections.
func (s *service) close() {
	if c, err := bindings.GetClient(s.conn); err == nil {
		c.Client.CloseIdleConnections()
	}
}

// allowed tells whether the spec lets this service be used.
func (s *service) allowed(spec sandbox.Spec) error {
	if s.host.rootless || spec.Rootful || os.Geteuid() == 0 && !s.apart || s.place.guest {
		return nil
	}
	return fmt.Errorf("podman at %s runs as root, which the profile does not allow; set rootful: true in the profile, or start your own: systemctl --user start podman.socket", s.place.name)
}

// connect returns the service that was found, or finds one.
func (e *Engine) connect(ctx context.Context, spec sandbox.Spec) (*service, error) {
	e.dialing.Lock()
	defer e.dialing.Unlock()
	e.mu.Lock()
	s := e.service
	e.mu.Unlock()
	// An engine that is being closed still has to end what is alive.
	if err := e.all.Over(); err != nil {
		return nil, err
	}
	if s != nil && s.allowed(spec) == nil && (s.keeper == nil || !s.keeper.Ended()) && s.answers(ctx) {
		return s, nil
	}
	found, err := e.find(ctx, spec)
	if err != nil {
		return nil, err
	}
	found.rootful = spec.Rootful
	e.mu.Lock()
	defer e.mu.Unlock()
	if s != nil {
		s.close()
	}
	e.service = found
	e.all.SweepLater(func(ctx context.Context) error { return e.sweep(ctx, found) })
	return found, nil
}

// again returns the service for what is alive already.
func (e *Engine) again(ctx context.Context) (*service, error) {
	e.mu.Lock()
	rootful := e.service != nil && e.service.rootful
	e.mu.Unlock()
	return e.connect(ctx, sandbox.Spec{Rootful: rootful})
}

// answers tells whether a service that was there still is.
func (s *service) answers(ctx context.Context) bool {
	if path := s.place.socket(); path != "" {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}
	_, err := bindings.NewConnectionWithOptions(s.with(ctx), s.place.options)
	return err == nil
}

// find tries each place, and starts a service if none is there.
func (e *Engine) find(ctx context.Context, spec sandbox.Spec) (*service, error) {
	all, err := e.places(spec.Rootful)
	if err != nil {
		return nil, err
	}
	var tried []string
	for _, p := range all {
		s, err := dial(ctx, p)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			err = s.allowed(spec)
			if err == nil {
				err = e.watch(ctx, s)
			}
			if err != nil {
				s.close()
			}
		}
		if err == nil {
			return s, nil
		}
		if p.asked {
			return nil, fmt.Errorf("%s: %w; start podman there, or unset the variable", p.name, err)
		}
		tried = append(tried, fmt.Sprintf("%s: %v", p.name, err))
	}
	if _, err := exec.LookPath("podman"); err != nil {
		return nil, fmt.Errorf("podman does not answer (%s) and is not installed; install podman, or name another engine", strings.Join(tried, ", "))
	}
	s, err := e.own(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("podman does not answer (%s) and podman system service does not start: %w", strings.Join(tried, ", "), err)
	}
	return s, nil
}

// watch sees that a reaper is there for a service that one can reach. From a
// distant one the guest's end of file is what ends it, and a later sweep.
func (e *Engine) watch(ctx context.Context, s *service) (err error) {
	if path := s.place.socket(); path != "" {
		s.keeper, err = e.reap(ctx, path)
	}
	return err
}

// dial connects and finds out about the service's host: from the service,
// unless that is known without it, for it takes longer to tell than to start a
// container. An ordinary user's usual place may lead to another's podman.
func dial(ctx context.Context, p place) (*service, error) {
	s, near, err := open(ctx, p)
	if err != nil {
		return nil, err
	}
	if near && (p.own || p.usual && os.Geteuid() == 0) {
		var known bool
		if s.host, known = ownHost(); known {
			return s, nil
		}
	}
	info, err := s.about(ctx)
	if err != nil {
		s.close()
		return nil, err
	}
	s.host = hostOf(info)
	return s, nil
}

// open connects, and tells whether it is a process of ours that listens.
func open(ctx context.Context, p place) (s *service, near bool, err error) {
	apart := false
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// The bindings try three times, with pauses; that nobody listens is known
	// at once.
	if path := p.socket(); path != "" {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, false, cause(err)
		}
		near, apart = peer(c)
		c.Close()
	}
	conn, err := bindings.NewConnectionWithOptions(ctx, p.options)
	if err != nil {
		return nil, false, cause(err)
	}
	return &service{place: p, conn: conn, apart: apart}, near, nil
}

// about asks the service about itself.
func (s *service) about(ctx context.Context) (information, error) {
	ctx, cancel := context.WithTimeout(ctx, recall)
	defer cancel()
	info, err := s.information(ctx)
	if err == nil && info.Host.CgroupsVersion == "" {
		err = errors.New("it says nothing about its host")
	}
	if err != nil {
		return information{}, fmt.Errorf("asking podman about itself: %w", cause(err))
	}
	return info, nil
}

// cause is the reason of a connection that failed, without the path, which
// the place has already named.
func cause(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// diagnose words an error of a call: that the service is gone says more than
// what the connection was doing at the time.
func (s *service) diagnose(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("podman at %s does not answer: %w", s.place.name, cause(err))
	}
	return err
}
