package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bridge/bridge"
	"bridge/sandbox"
	"bridge/sandbox/engines"
)

// engineCheck is an engine that the doctor looks at.
type engineCheck struct {
	engine engines.Engine
	spec   sandbox.Spec
	own    string // name of the bridge's own image

	measured bool // whether the limits of the spec are a profile's, and worth a look

	checks  []check
	refusal *engines.Refusal // nil if the engine is ready
	absent  bool             // the engine is not there at all
}

func (p *engineCheck) note(what, status, finding, remedy string) {
	p.checks = append(p.checks, check{p.engine.Name() + " " + what, status, finding, remedy})
}

// downgrade turns failures of an engine that is not needed into warnings.
func (p *engineCheck) downgrade() {
	for i, c := range p.checks {
		if c.Status != fail {
			continue
		}
		p.checks[i].Status = warn
		if p.absent {
			p.checks[i] = check{c.What, ok, c.Finding + ", and not needed", ""}
		}
	}
}

// examine looks at the engine from outside, then from inside a sandbox.
func (p *engineCheck) examine(ctx context.Context) {
	if c, is := p.engine.(engines.Container); is && !p.examineContainer(ctx, c) {
		return
	}
	filled := make(chan [2]bool, 1)
	go func() {
		var stopped, tried bool
		if p.measured {
			stopped, tried = p.fill(ctx)
		}
		filled <- [2]bool{stopped, tried}
	}()
	seen, err := p.look(ctx)
	memory := <-filled
	if err != nil {
		p.refuse(ctx, "sandbox", err)
		return
	}
	if _, is := p.engine.(engines.Container); !is {
		p.note("python", ok, "version "+seen.Python, "")
	}
	p.isolation(seen)
	if p.measured {
		p.limits(seen, memory[0], memory[1])
	}
}

// refuse notes why the engine is not ready.
func (p *engineCheck) refuse(ctx context.Context, what string, err error) {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		err = errors.New("it took too long to answer; restart it, or give it longer with --wait")
	}
	r := engines.NewRefusal(p.engine.Name(), err)
	p.refusal = &r
	p.note(what, fail, r.Cause, r.Remedy)
}

// examineContainer looks at an engine that runs images, and tells whether it
// is worth looking further.
func (p *engineCheck) examineContainer(ctx context.Context, c engines.Container) bool {
	f, err := c.Describe(ctx, p.spec)
	if err != nil {
		p.absent = !onPath(c.Name())
		p.refuse(ctx, "service", err)
		return false
	}
	said := []string{f.Endpoint, "version " + f.Version, "API " + f.API, "rootful", "cgroup version " + f.Cgroup}
	if f.Rootless {
		said[3] = "rootless"
	}
	if f.Source != "" {
		said[0] += " (" + f.Source + ")"
	}
	p.note("service", ok, strings.Join(said, ", "), "")
	for _, w := range f.Warnings {
		p.note("warning", warn, w, "")
	}
	name := cmp.Or(p.spec.Image, p.own)
	images, _ := c.Images(ctx, p.spec) // Ready tells, if that fails
	for _, im := range images {
		if im.Name == name {
			p.note("image", ok, fmt.Sprintf("%s, %s, built %s", name, decimal(im.Size), im.Created.Format(time.DateOnly)), "")
		}
	}
	// An image that is not found by its name may be there by its digest.
	if err := p.engine.Ready(ctx, p.spec); err != nil {
		p.refuse(ctx, "sandbox", err)
		return false
	}
	return true
}

// isolation compares what a sandbox is promised to be with what was seen.
func (p *engineCheck) isolation(seen *observation) {
	var broken []string
	complain := func(is bool, format string, args ...any) {
		if is {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	complain(seen.UID == 0, "its user is root")
	complain(seen.Capabilities != 0, "it has capabilities (%x)", seen.Capabilities)
	complain(seen.Privileges, "it can gain privileges")
	complain(!seen.Filtered, "no system calls are filtered")
	complain(len(seen.Interfaces) > 0, "it has a network: %s", strings.Join(seen.Interfaces, ", "))
	complain(len(seen.Writable) > 0, "it can write to %s", strings.Join(seen.Writable, ", "))
	if len(broken) > 0 {
		p.note("sandbox", fail, strings.Join(broken, "; "), "do not use this engine here, and report it")
		return
	}
	p.note("sandbox", ok, fmt.Sprintf("started in %s: Python %s, user %d without capabilities or new privileges, system calls filtered, no network, read-only",
		seen.after.Round(time.Millisecond), seen.Python, seen.UID), "")
}

// limits tells how each limit is held, and which of them it was seen to be.
func (p *engineCheck) limits(seen *observation, stopped, filled bool) {
	l := p.spec.Limits
	var held, loose, broken []string
	for _, limit := range []struct {
		name, value string
		tried       bool
		holds       bool
	}{
		{"memory", bridge.Size(l.Memory), filled, stopped},
		{"cpus", fmt.Sprint(l.CPUs), false, true},
		{"pids", fmt.Sprint(l.PIDs), seen.PIDs > 0, seen.PIDs <= l.PIDs},
		{"files", fmt.Sprint(l.Files), true, seen.Files <= l.Files},
		{"tmp", bridge.Size(l.Tmp), true, seen.Tmp <= l.Tmp},
		{"workspace", bridge.Size(l.Workspace), true, seen.Workspace <= l.Workspace},
		{"shm", bridge.Size(l.Shm), true, seen.Shm <= l.Shm},
	} {
		how := seen.held[limit.name]
		switch {
		case how == "":
			loose = append(loose, limit.name)
			continue
		case limit.tried && !limit.holds:
			broken = append(broken, limit.name)
			continue
		case limit.tried:
			how += ", tried"
		}
		held = append(held, fmt.Sprintf("%s %s (%s)", limit.name, limit.value, how))
	}
	if len(held) > 0 {
		p.note("limits", ok, strings.Join(held, ", "), "")
	}
	if len(loose) > 0 {
		p.note("limits", warn, "not in force: "+strings.Join(loose, ", "), "use an engine or a machine that holds them; enforced: true in the profile's limits makes this an error")
	}
	if len(broken) > 0 {
		p.note("limits", fail, "said to be in force, and are not: "+strings.Join(broken, ", "), "do not use this engine here, and report it")
	}
}
