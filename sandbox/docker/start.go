package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"

	cerrdefs "github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
)

// make makes the container and listens to it. What was begun and did not work
// is taken back.
func (e *Engine) make(ctx context.Context, p *plan, args []string) (*box, error) {
	b := &box{
		Life:   container.NewLife(p.held()),
		engine: e,
		client: p.client,
		image:  p.image,
	}
	if err := e.all.Add(b); err != nil {
		return nil, err
	}
	err := e.create(ctx, p, b, args)
	if err != nil {
		e.all.Drop(b)
		return nil, err
	}
	if b.watch, err = b.listen(ctx); err != nil {
		b.Abandon()
		return nil, err
	}
	return b, nil
}

// start starts the container. One that does not start is taken back.
func (b *box) start(ctx context.Context) error {
	_, err := b.client.ContainerStart(ctx, b.id, client.ContainerStartOptions{})
	if err != nil {
		b.Abandon()
		return err
	}
	if names := sandbox.Loose(b.Limits()); len(names) > 0 {
		b.engine.log.Warn("docker does not hold every limit", "container", b.id, "missing", strings.Join(names, ", "))
	}
	go b.attend(b.watch)
	return nil
}

// Abandon takes back a container that was not started, in the background.
func (b *box) Abandon() {
	b.watch.drop()
	if b.conn.Conn != nil {
		b.conn.Close()
	}
	go func() {
		b.engine.remove(b.client, b.id)
		b.engine.all.Drop(b)
	}()
}

// create makes the container. It is not bound to the context: docker goes on
// when its client gives up, and the container would be nobody's.
func (e *Engine) create(ctx context.Context, p *plan, b *box, args []string) error {
	options := p.options(args, container.Labels(p.spec.Label, e.all.Owner))
	options.Name = b.Name()
	type created struct {
		id  string
		err error
	}
	answer := make(chan created)
	if err := e.all.Task(func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		got, err := p.client.ContainerCreate(own, options)
		for _, w := range got.Warnings {
			e.log.Debug("docker warns", "container", got.ID, "warning", w)
		}
		select {
		case answer <- created{got.ID, err}:
		case <-ctx.Done():
			e.remove(p.client, cmp.Or(got.ID, options.Name))
		}
	}); err != nil {
		return err
	}
	select {
	case got := <-answer:
		b.id = got.id
		return got.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen opens what is needed to hear all of the container's life, before
// there is any. The connections are opened side by side: each takes as long as
// it takes docker to answer.
func (b *box) listen(ctx context.Context) (*watch, error) {
	// They end with the container, not with the context of its start.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{stop: stop}
	unlisten := context.AfterFunc(ctx, stop)
	defer unlisten()
	var all errgroup.Group
	all.Go(func() error {
		got, err := b.client.ContainerAttach(ctx, b.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
		b.conn = got.HijackedResponse
		return err
	})
	all.Go(func() error {
		w.exit = b.client.ContainerWait(life, b.id, client.ContainerWaitOptions{Condition: api.WaitConditionRemoved})
		select {
		case err := <-w.exit.Error:
			w.exit = client.ContainerWaitResult{}
			return err
		default:
			return nil
		}
	})
	all.Go(func() error {
		w.events = b.client.Events(life, client.EventsListOptions{
			Filters: client.Filters{}.Add("container", b.id).Add("event", "oom", "destroy"),
		})
		select {
		case err := <-w.events.Err:
			return err
		default:
			return nil
		}
	})
	err := all.Wait()
	if err == nil && !unlisten() {
		err = context.Cause(ctx)
	}
	return w, err
}

// refused words what docker said against a container.
func (e *Engine) refused(ctx context.Context, p *plan, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	switch {
	case errors.Is(err, container.ErrClosed):
		return err
	case client.IsErrConnectionFailed(err):
		e.unlink(p.client)
		return p.silent(ctx, err)
	case strings.Contains(text, `"python3": executable file not found`):
		return fmt.Errorf("the image has no python3; name one that has with image: in the profile")
	case strings.Contains(text, "setting rlimit"), strings.Contains(text, "error setting rlimits"):
		return fmt.Errorf("docker may not give %d open files to a process; lower files in the profile's limits, or raise LimitNOFILE of dockerd", p.limits.Files)
	case strings.Contains(text, "bind source path does not exist"), strings.Contains(text, "failed to mount local volume"):
		return fmt.Errorf("a mount is not on docker's host: %s; make it, or take it out of the profile's mounts", text)
	}
	return fmt.Errorf("starting a container on docker: %s", text)
}

// remove kills and removes a container, whatever state it is in, and tells
// whether it is gone.
func (e *Engine) remove(c *client.Client, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	for wait := 50 * time.Millisecond; ctx.Err() == nil; wait *= 2 {
		_, err = c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, cerrdefs.IsNotFound(err):
			return true
		case client.IsErrConnectionFailed(err):
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	e.log.Warn("a container could not be removed", "container", id, "cause", err)
	return false
}
