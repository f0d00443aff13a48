package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// oldest is the interface of docker 20.10, the first with cgroup namespaces.
const oldest = "1.41"

// link is a daemon that has answered, and what it said of itself.
type link struct {
	endpoint endpoint
	client   *client.Client
	info     system.Info
}

// connect finds the daemon and asks what it is. The answer is kept until the
// daemon goes away: it takes longer to give than a container to make.
func (e *Engine) connect(ctx context.Context) (*link, error) {
	e.mu.Lock()
	l, closed := e.link, e.closed
	e.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if l != nil {
		if _, err := l.client.Ping(ctx, client.PingOptions{}); err == nil {
			return l, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e.unlink(l.client)
	}
	p, err := find(e.options.Host)
	if err != nil {
		return nil, err
	}
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	l = &link{endpoint: p, client: c}
	if err := l.ask(ctx); err != nil {
		c.Close()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		c.Close()
		return nil, errClosed
	}
	if e.link != nil {
		// Another start was faster.
		c.Close()
		return e.link, nil
	}
	e.link = l
	for id := range e.orphans {
		delete(e.orphans, id)
		e.tasks.Go(func() { e.remove(c, id) })
	}
	// The first start does not wait for it.
	e.tasks.Go(func() { e.sweep(l) })
	return l, nil
}

// ask negotiates the interface's version and learns what the daemon is.
func (l *link) ask(ctx context.Context) error {
	if _, err := l.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return l.silent(ctx, err)
	}
	got, err := l.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return l.silent(ctx, err)
	}
	l.info = got.Info
	if api := l.client.ClientVersion(); versions.LessThan(api, oldest) {
		return fmt.Errorf("docker %s speaks version %s of its interface; update it to 20.10 or later", l.info.ServerVersion, api)
	}
	if l.info.OSType != "linux" {
		return fmt.Errorf("docker runs containers of %s; switch it to Linux containers", l.info.OSType)
	}
	return nil
}

// silent words what kept the daemon from answering. The client has words of
// its own for it, without the cause; so the socket is tried once more.
func (l *link) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if path, local := strings.CutPrefix(l.endpoint.host, "unix://"); local && client.IsErrConnectionFailed(err) {
		conn, cause := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if cause == nil {
			conn.Close()
		} else {
			err = cause
		}
	}
	cause, remedy := err.Error(), "see what it says itself: docker info"
	var number syscall.Errno
	if errors.As(err, &number) {
		cause = number.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "install docker, or start it: systemctl start docker"
	case errors.Is(err, syscall.ECONNREFUSED):
		remedy = "start it: systemctl start docker"
	case errors.Is(err, fs.ErrPermission):
		remedy = "become a member of its group, or run a daemon of your own: dockerd-rootless-setuptool.sh install"
	}
	// Before the semicolon is the cause, after it the remedy.
	cause = strings.ReplaceAll(strings.TrimPrefix(cause, "Error response from daemon: "), "; ", ", ")
	return fmt.Errorf("docker does not answer at %s (%s): %s; %s", display(l.endpoint.host), l.endpoint.source, cause, remedy)
}

// option returns the value of a security option of the daemon, such as
// "profile=default" of "name=seccomp,profile=default".
func (l *link) option(name string) (value string, is bool) {
	for _, option := range l.info.SecurityOptions {
		fields := strings.Split(option, ",")
		if slices.Contains(fields, "name="+name) {
			return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "name="+name }), ","), true
		}
	}
	return "", false
}

// rootless tells whether the daemon runs as an ordinary user.
func (l *link) rootless() bool {
	_, is := l.option("rootless")
	return is
}
