package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Policy is what a set of policy files says. It does not change once
// loaded, and any number of goroutines may use it.
type Policy struct {
	profiles map[string]*Profile
}

// Profiles are the names of the profiles, sorted.
func (p *Policy) Profiles() []string { return sortedKeys(p.profiles) }

// Profile is the profile of that name. The error of an unknown one says which
// there are.
func (p *Policy) Profile(name string) (*Profile, error) {
	if profile, ok := p.profiles[name]; ok {
		return profile, nil
	}
	names := p.Profiles()
	if len(names) == 0 {
		return nil, fmt.Errorf("unknown profile %q; the policy has no profiles", name)
	}
	return nil, fmt.Errorf("unknown profile %q; profiles: %s%s", name, strings.Join(names, ", "), DidYouMean(name, names))
}

// A Profile is everything that an agent may do. The zero Profile allows
// nothing.
type Profile struct {
	Name        string
	Description string
	Engine      string // "native", or "" for whichever is ready
	Python      string // path of the sandbox's Python, or "" for the machine's python3
	Limits      Limits
	Timeout     Timeout
	Output      int // bytes of text that a run may show
	Parallel    int // tool calls that one run may have under way at once
	Session     Session
	Servers     []Server // those that it mounts, sorted by name

	mounts map[string]*mount
}

// Limits are what a sandbox may use of the machine. Sizes are in bytes.
type Limits struct {
	Memory    int64
	CPUs      float64 // processors' worth of computing time
	PIDs      int64   // processes and threads at once
	Files     int64   // open files of each process
	Tmp       int64   // in /tmp
	Workspace int64   // in /workspace
	Shm       int64   // in /dev/shm
}

// A Timeout bounds a run: Default holds for one that names no time, and Max is
// the most that one may ask for. Both are whole seconds.
type Timeout struct {
	Default time.Duration
	Max     time.Duration
}

// A Session is how long an agent's variables live.
type Session struct {
	Persist bool          // from one run to the next
	Idle    time.Duration // without a run
}

// A Server is an MCP server as the policy defines it. Values of Env may hold
// ${NAME}, which Load does not expand.
type Server struct {
	Name         string
	Description  string
	Command      string
	Args         []string
	Env          map[string]string
	Cwd          string
	StartTimeout time.Duration
	CallTimeout  time.Duration
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
