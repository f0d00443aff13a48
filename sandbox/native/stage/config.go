// Package stage turns a fresh process in new namespaces into a sandbox: it
// builds the read-only tree, drops every privilege, puts the filters in force
// and executes the interpreter.
//
// It knows only what its Config says: which paths, limits and filters there
// are is decided, and compiled to data, by the parent. It imports nothing but
// the standard library, and must not: see the comment at its init.
package stage

// Name is argv[0] of a process that is to become a sandbox. The process is
// the parent's own program, executed again.
const Name = "bridge-sandbox"

// The descriptors that the parent hands over beside stdin, stdout and stderr.
const (
	// ConfigFD brings the Config: its length as a number of the encoding, the
	// encoding, and later one more byte, Running or Watched, when the parent has
	// put the process under its limits and Python may run. An early end means
	// that the parent is gone.
	ConfigFD = 3

	// StatusFD is a local socket. It takes one Running byte just before the
	// interpreter is executed, or an encoded Failure, or one after the other.
	// With Watched, a descriptor of the filter that asks goes with the byte. It
	// closes when the interpreter runs.
	StatusFD = 4
)

// Running is written to StatusFD when nothing is left but to execute Python.
const Running = '.'

// Watched is Running for a process that has the filter Sharing as well.
const Watched = '?'

// Config says what the sandbox is made of.
type Config struct {
	Mounts   []Mount // a parent before what lies in it
	Links    []Link
	Files    []File
	Dir      string // working directory of the interpreter
	UID      uint64 // user and group inside
	SetID    bool   // UID is another id than the one the stage starts with
	Landlock *Landlock
	CPUs     []uint64 // mask of the processors to choose from
	CPUCount uint64   // how many of them to run on
	Rlimits  []Rlimit
	Seccomp  string // an array of struct sock_filter
	Sharing  string // another, which asks the parent
	Path     string
	Argv     []string
	Env      []string
}

// Mount is one mount of the new tree.
type Mount struct {
	Source  string      // path on the host; empty for a tmpfs of its own
	Target  string      // path inside
	Dir     bool        // Target is a directory
	Attr    uint64      // MOUNT_ATTR_*, in force before the mount can be seen
	Options [][2]string // of the tmpfs
}

// Link is a symbolic link of the new tree.
type Link struct{ Target, Path string }

// File is a small file of the new tree.
type File struct{ Path, Text string }

// Landlock is a ruleset: what it handles is forbidden but for the rules.
type Landlock struct {
	FS, Net, Scoped uint64
	Rules           []Rule
}

// Rule allows an access below a path inside. A path that is not there is left out.
type Rule struct {
	Path   string
	Access uint64
}

// Rlimit sets both the soft and the hard limit of a resource.
type Rlimit struct {
	Resource, Value uint64
}

// Failure tells the parent which step was refused, and why.
type Failure struct {
	Step  string
	Errno uint64 // 0 if it was not the kernel that refused
	Text  string
}

func (f *Failure) Error() string { return f.Step + ": " + f.Text }

func (c *Config) code(x *coder) {
	each(x, &c.Mounts, func(m *Mount) {
		x.text(&m.Source)
		x.text(&m.Target)
		x.flag(&m.Dir)
		x.number(&m.Attr)
		each(x, &m.Options, func(o *[2]string) { x.text(&o[0]); x.text(&o[1]) })
	})
	each(x, &c.Links, func(l *Link) { x.text(&l.Target); x.text(&l.Path) })
	each(x, &c.Files, func(f *File) { x.text(&f.Path); x.text(&f.Text) })
	x.text(&c.Dir)
	x.number(&c.UID)
	x.flag(&c.SetID)
	landlock := c.Landlock != nil
	if x.flag(&landlock); landlock {
		if c.Landlock == nil {
			c.Landlock = new(Landlock)
		}
		l := c.Landlock
		x.number(&l.FS)
		x.number(&l.Net)
		x.number(&l.Scoped)
		each(x, &l.Rules, func(r *Rule) { x.text(&r.Path); x.number(&r.Access) })
	}
	each(x, &c.CPUs, x.number)
	x.number(&c.CPUCount)
	each(x, &c.Rlimits, func(r *Rlimit) { x.number(&r.Resource); x.number(&r.Value) })
	x.text(&c.Seccomp)
	x.text(&c.Sharing)
	x.text(&c.Path)
	each(x, &c.Argv, x.text)
	each(x, &c.Env, x.text)
}

func (f *Failure) code(x *coder) {
	x.text(&f.Step)
	x.number(&f.Errno)
	x.text(&f.Text)
}
