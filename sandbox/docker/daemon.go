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

// daemon is a daemon that has answered, and what it said about itself.
type daemon struct {
	endpoint endpoint
	client   *client.Client
	info     system.Info
}

// connect finds the daemon and asks it about itself, once until it goes away:
// the answer takes longer than a container.
func (e *Engine) connect(ctx context.Context) (*daemon, error) {
	e.mu.Lock()
	d := e.daemon
	e.mu.Unlock()
	if err := e.all.Closed(); err != nil {
		return nil, err
	}
	if d != nil {
		if _, err := d.client.Ping(ctx, client.PingOptions{}); err == nil {
			return d, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e.unlink(d.client)
	}
	p, err := find(e.options.Host)
	if err != nil {
		return nil, err
	}
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	d = &daemon{endpoint: p, client: c}
	if err := d.ask(ctx); err != nil {
		c.Close()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.all.Closed(); err != nil {
		c.Close()
		return nil, err
	}
	if e.daemon != nil {
		// Another start was faster.
		c.Close()
		return e.daemon, nil
	}
	e.daemon = d
	// The first start does not wait for it.
	e.all.SweepLater(func(ctx context.Context) error { return e.sweep(ctx, d) })
	return d, nil
}

// ask negotiates the interface's version and learns what the daemon is.
func (d *daemon) ask(ctx context.Context) error {
	if _, err := d.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return d.silent(ctx, err)
	}
	got, err := d.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return d.silent(ctx, err)
	}
	d.info = got.Info
	if api := d.client.ClientVersion(); versions.LessThan(api, oldest) {
		return fmt.Errorf("docker %s speaks version %s of its interface; update it to 20.10 or later", d.info.ServerVersion, api)
	}
	if d.info.OSType != "linux" {
		return fmt.Errorf("docker runs containers of %s; switch it to Linux containers", d.info.OSType)
	}
	return nil
}

// silent words what kept the daemon from answering. The client has words of
// its own for it, without the cause; so the socket is tried once more.
func (d *daemon) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if path, local := strings.CutPrefix(d.endpoint.host, "unix://"); local && client.IsErrConnectionFailed(err) {
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
	return fmt.Errorf("docker does not answer at %s (%s): %s; %s", display(d.endpoint.host), d.endpoint.source, cause, remedy)
}

// option returns the value of a security option of the daemon, such as
// "profile=default" of "name=seccomp,profile=default".
func (d *daemon) option(name string) (value string, is bool) {
	for _, option := range d.info.SecurityOptions {
		fields := strings.Split(option, ",")
		if slices.Contains(fields, "name="+name) {
			return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "name="+name }), ","), true
		}
	}
	return "", false
}

// rootless tells whether the daemon runs as an ordinary user.
func (d *daemon) rootless() bool {
	_, is := d.option("rootless")
	return is
}
