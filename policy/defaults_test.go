package policy

import (
	"slices"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/engines"
	"bridge/upstream"
)

// TestEngines holds the schema's engines to those that there are, in the order
// in which they are tried.
func TestEngines(t *testing.T) {
	if got, want := Engines(), engines.Names(); !slices.Equal(got, want) {
		t.Errorf("the schema has the engines %q, and the list has %q", got, want)
	}
	for _, f := range schemaEngines().fields {
		for _, name := range f.engines {
			if !slices.Contains(Engines(), name) {
				t.Errorf("%s: @engines names %q, which is not an engine", f.name, name)
			}
		}
	}
}

// TestDefaults holds defaults.cue to the defaults of the packages that it is for.
func TestDefaults(t *testing.T) {
	p := profile(t, `servers: s: command: "c"`+"\n"+`profiles: p: servers: s: tools: [_]: {}`)
	l := sandbox.DefaultLimits
	want := Limits{Memory: l.Memory, CPUs: l.CPUs, PIDs: l.PIDs, Files: l.Files, Tmp: l.Tmp, Workspace: l.Workspace, Shm: l.Shm}
	if p.Limits != want {
		t.Errorf("limits %+v, and a sandbox's are %+v", p.Limits, want)
	}
	if p.Output != sandbox.DefaultOutput || p.User != container.DefaultUser {
		t.Errorf("output %d and user %s, and a sandbox's are %d and %s", p.Output, p.User, sandbox.DefaultOutput, container.DefaultUser)
	}
	if s := p.Servers[0]; s.StartTimeout != upstream.DefaultStartTimeout || s.CallTimeout != upstream.DefaultCallTimeout {
		t.Errorf("timeouts of %v and %v, and a server's are %v and %v", s.StartTimeout, s.CallTimeout, upstream.DefaultStartTimeout, upstream.DefaultCallTimeout)
	}
}
