package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/client"
)

// Labels of a container that is ours.
const (
	labelFor   = "bridge.sandbox" // what the sandbox is for
	labelOwner = "bridge.owner"   // the process that has started it
	labelHost  = "bridge.host"    // where that process is
)

// owner is a process: its number alone may be another's later.
type owner struct {
	boot  string // of the machine
	pid   int
	start string // when it began, in the system's own measure
}

func (o owner) String() string { return fmt.Sprintf("%s/%d/%s", o.boot, o.pid, o.start) }

func parseOwner(text string) (o owner, ok bool) {
	fields := strings.Split(text, "/")
	if len(fields) != 3 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(fields[1])
	return owner{fields[0], pid, fields[2]}, err == nil && pid > 0 && fields[0] != "" && fields[2] != ""
}

// self is this process.
var self = sync.OnceValues(func() (owner, error) {
	boot, err := bootID()
	if err != nil {
		return owner{}, fmt.Errorf("reading when this machine was started: %w", err)
	}
	start, err := startOf(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("reading when this process was started: %w", err)
	}
	return owner{boot, os.Getpid(), start}, nil
})

// gone tells whether the process has ended, on this machine.
func (o owner) gone(me owner) bool {
	if o.boot != me.boot {
		return true
	}
	start, err := startOf(o.pid)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && start != o.start
}

// host tells machines apart that use one daemon, and the parts of a machine
// that number their processes for themselves.
func host() string {
	name, _ := os.Hostname()
	digest := sha256.Sum256([]byte(machineID() + "\x00" + name))
	return hex.EncodeToString(digest[:8]) + "/" + numbering()
}

// labels are those of a new container.
func labels(purpose string) (map[string]string, error) {
	me, err := self()
	if err != nil {
		return nil, err
	}
	return map[string]string{labelFor: purpose, labelOwner: me.String(), labelHost: host()}, nil
}

// Sweep removes the containers of bridges that have ended without removing
// them: the machine, or docker, may have gone down with them. Those of a
// process that cannot be seen from here stay.
func (e *Engine) Sweep(ctx context.Context) error {
	l, err := e.connect(ctx)
	if err != nil {
		return err
	}
	return e.sweepOn(ctx, l)
}

// sweep does so in the background, once for each daemon that has answered.
func (e *Engine) sweep(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.sweepOn(ctx, l); err != nil {
		e.log.Warn("containers of bridges that are gone could not be removed", "cause", err)
	}
}

func (e *Engine) sweepOn(ctx context.Context, l *link) error {
	me, err := self()
	if err != nil {
		return err
	}
	list, err := l.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelOwner)})
	if err != nil {
		return fmt.Errorf("listing docker's containers: %w", err)
	}
	var left []string
	for _, c := range list.Items {
		if !orphan(c.Labels, me) {
			continue
		}
		e.log.Info("removing a container that was left behind", "container", c.ID, "owner", c.Labels[labelOwner])
		if !e.remove(l.client, c.ID) {
			left = append(left, c.ID[:12])
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("docker has not removed what ended bridges have left; run: docker rm -f %s", strings.Join(left, " "))
	}
	return nil
}

// orphan tells whether the container with these labels is certainly nobody's
// any more.
func orphan(labels map[string]string, me owner) bool {
	o, ok := parseOwner(labels[labelOwner])
	if !ok || !o.gone(me) {
		return false
	}
	if labels[labelHost] == host() {
		return true
	}
	// After a start of the machine nothing of before is left, however it was
	// numbered.
	machine, _, _ := strings.Cut(host(), "/")
	theirs, _, _ := strings.Cut(labels[labelHost], "/")
	return theirs == machine && o.boot != me.boot
}
