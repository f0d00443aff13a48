package bridge

import (
	"fmt"
	"reflect"

	"bridge/policy"
	"bridge/sandbox"
)

// take makes a setup the one that holds, and tells whether it wants sandboxes
// that are not as before.
func (s *session) take(setup Setup) bool {
	kept := newKept(setup.Profile, setup.Store, s.log)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, before := s.setup, s.kept
	s.setup, s.kept = setup, kept
	return old.Profile != nil && (old.Engine != setup.Engine ||
		!reflect.DeepEqual(before.show(Spec(old.Profile)), kept.show(Spec(setup.Profile))))
}

// profile is the one that holds now.
func (s *session) profile() *policy.Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setup.Profile
}

// told are the notes for the next report, once.
func (s *session) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

// reload takes over what the policy says now, before a run, and returns the
// profile that the run is under. The caller holds the turn: no run is going on,
// so that no call is decided twice. A policy that is broken changes nothing.
func (s *session) reload() *policy.Profile {
	old := s.profile()
	if s.changed == nil {
		return old
	}
	setup, err := s.changed()
	switch {
	case err != nil:
		s.log.Error("the policy has changed and cannot be used; the one before still holds", "err", err)
		s.note(fmt.Sprintf("the policy has changed and cannot be used, so that the one before still holds: %v", err))
		return old
	case setup == nil:
		return old
	}
	s.log.Info("the policy has changed and is in force", "profile", setup.Profile.Name)
	s.gate.upstream.Update(setup.Servers)
	renewed := s.take(*setup)
	s.mu.Lock()
	used := s.used
	s.mu.Unlock()
	if renewed {
		s.log.Info("the policy's sandbox has changed; the next one is new")
		s.part((*sandbox.Session).End)
		if used && setup.Profile.Session.Persist {
			s.note("the policy has changed what the sandbox is made with")
		}
	}
	if s.reloaded != nil {
		s.reloaded()
	}
	return setup.Profile
}

func (s *session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, VisibleLines(text))
}

// begin opens the entry of a run, and what its code can keep.
func (s *session) begin(code string) (*kept, *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, s.audit.begin(s.setup.Audit, s.setup.Profile, code)
}
