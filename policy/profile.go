package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bridge/definition"
)

// A Policy is what a set of policy files says. It does not change once
// loaded, and any number of goroutines may use it.
type Policy struct {
	profiles map[string]*Profile
	sources  []source // what it was loaded from
	eval     *evaluator

	builtIn func() (*Policy, error) // whose profiles there are beside; nil if it is that policy
}

// Profiles are the names of the policy's own profiles, sorted.
func (p *Policy) Profiles() []string { return sortedKeys(p.profiles) }

// BuiltIn are the names of the profiles that are built in and that the policy does
// not define itself, sorted.
func (p *Policy) BuiltIn() []string {
	if p.builtIn == nil {
		return nil
	}
	other, err := p.builtIn()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(other.Profiles(), func(name string) bool { return p.profiles[name] != nil })
}

// Place is where the policy has the field at the path, which is nowhere if it
// has no such field, and the path as it is written.
func (p *Policy) Place(path ...string) (at Pos, written string) {
	p.eval.mu.Lock()
	defer p.eval.mu.Unlock()
	v := lookup(p.eval.user, path...)
	if !v.Exists() {
		return Pos{}, pathString(path)
	}
	return p.eval.posOf(v), pathString(path)
}

// Profile is the profile of that name, the policy's own or else one that is built
// in, with what the overrides choose where it leaves a choice. "" stands for the
// policy's own profile default, or for its only one. The error of an unknown one
// says which there are. Overrides that the profile forbids are reported as Errors,
// each with the field, the rule and its place, and the variable.
func (p *Policy) Profile(name string, overrides ...Override) (*Profile, error) {
	own := p.Profiles()
	switch {
	case name != "":
	case p.profiles["default"] != nil:
		name = "default"
	case len(own) == 1:
		name = own[0]
	case len(own) == 0:
		return nil, errors.New("no profile is named, and the policy has none of its own")
	default:
		return nil, fmt.Errorf("no profile is named; profiles: %s", strings.Join(own, ", "))
	}
	if profile, ok := p.profiles[name]; ok {
		if len(overrides) == 0 {
			return profile, nil
		}
		return p.override(profile, overrides)
	}
	others := p.BuiltIn()
	if slices.Contains(others, name) {
		other, err := p.builtIn()
		if err != nil {
			return nil, err
		}
		return other.Profile(name, overrides...)
	}
	names := append(own, others...)
	slices.Sort(names)
	return nil, fmt.Errorf("unknown profile %q; profiles: %s%s", name, strings.Join(names, ", "), DidYouMean(name, names))
}

// A Profile is everything that an agent may do. The zero Profile allows
// nothing.
type Profile struct {
	Name        string
	Description string
	Engine      string   // "native", "podman" or "docker", or "" for whichever is ready
	Python      string   // for native: path of the sandbox's Python, or "" for the machine's python3
	Image       string   // for podman and docker: the image, or "" for the bridge's own
	Pull        bool     // for podman and docker: whether an image that is missing is fetched
	Packages    []string // of Python, to install
	Require     string   // path of a file of more packages, which may begin with ~/, or ""
	Rootful     bool     // whether an engine that runs as root may be used
	User        string   // for podman and docker: numbers of the user and the group, as 65534:65534
	Security    []string // for podman and docker: security options to add
	Mounts      []Folder // of the host
	Limits      Limits
	Timeout     Timeout
	Output      int // bytes of text that a run may show
	Parallel    int // tool calls that one run may have under way at once
	Session     Session
	Budget      Budget // of all calls
	Audit       Audit
	Memory      Memory
	State       string              // folder of what outlives sessions, which may begin with ~/; "" is the user's own
	Format      string              // of results: "compact", "toon" or "json"
	Discover    []string            // where to find servers that the policy does not define
	Servers     []definition.Server // those that it mounts, sorted by name

	allow  map[string]*mount // by the server that each is of
	finder *finder           // mounts what is discovered; nil without Discover
	from   *origin
	chosen map[string]string // fields that overrides have set, such as limits.memory: the variable
}

// BuiltIn tells whether the profile is one that is built in.
func (p *Profile) BuiltIn() bool { return strings.HasPrefix(p.Pos().File, builtInFolder) }

// Source says what has set a field, such as limits.memory, in words that follow
// on "of": the profile, or a variable of the environment.
func (p *Profile) Source(field string) string {
	if variable, ok := p.chosen[field]; ok {
		return variable
	}
	return fmt.Sprintf("profile %q", p.Name)
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
	Enforced  bool    // whether one that the machine cannot hold is an error
}

// A Folder is a folder or a file of the host that the sandbox sees. Source may
// begin with ~/, which Load does not expand.
type Folder struct {
	Source   string
	Target   string
	Writable bool
	Relabel  bool // give it a label of SELinux that containers may read
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

// An Audit is what the log of a profile's runs and calls has.
type Audit struct {
	Enabled   bool
	Required  bool  // whether what cannot be written down is not done
	Arguments bool  // those of calls
	Code      bool  // that of runs
	Bytes     int64 // of all of the log
	Asked     bool  // whether the policy says anything of it
}

// A Memory is what an agent may keep for later sessions.
type Memory struct {
	Mode  string // "on", "readOnly" or "off"
	Bytes int64
	Keys  int
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
