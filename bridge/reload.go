package bridge

import (
	"fmt"
	"log/slog"
	"sync"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// currentPolicy is the setup that holds now. It may change between two runs.
type currentPolicy struct {
	changed  func() (*Setup, error) // as Options.Reload; nil if it never changes
	reloaded func()                 // called when another policy holds
	upstream *upstream.Set
	log      *slog.Logger

	mu     sync.Mutex // guards what follows
	setup  Setup
	memory *memory
	notes  []string // for the next run's report
}

func newCurrentPolicy(o Options, up *upstream.Set) *currentPolicy {
	return &currentPolicy{
		changed: o.Reload, reloaded: func() {}, upstream: up, log: o.Log,
		setup: o.Setup, memory: newMemory(o.Profile, o.Store, o.Log),
	}
}

// profile is the one that holds now.
func (c *currentPolicy) profile() *policy.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setup.Profile
}

// sandbox is what sandboxes are made with now.
func (c *currentPolicy) sandbox() (sandbox.Engine, sandbox.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setup.Engine, c.memory.show(Spec(c.setup.Profile))
}

// take is what holds now, for a run, with the notes for its report.
func (c *currentPolicy) take() (Setup, *memory, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := c.notes
	c.notes = nil
	return c.setup, c.memory, notes
}

// reload applies what the policy says now, and reports whether it has changed.
// No run is going on, so no call is decided twice. A policy that is broken
// changes nothing.
func (c *currentPolicy) reload() bool {
	if c.changed == nil {
		return false
	}
	setup, err := c.changed()
	switch {
	case err != nil:
		c.log.Error("the policy has changed and cannot be used; the one before still holds", "err", err)
		c.note(fmt.Sprintf("the policy has changed and cannot be used, so that the one before still holds: %v", err))
		return false
	case setup == nil:
		return false
	}
	c.log.Info("the policy has changed and is in force", "profile", setup.Profile.Name)
	c.upstream.Update(setup.Servers)
	memory := newMemory(setup.Profile, setup.Store, c.log)
	c.mu.Lock()
	c.setup, c.memory = *setup, memory
	c.mu.Unlock()
	c.reloaded()
	return true
}

func (c *currentPolicy) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, VisibleLines(text))
}
