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
	// ConfigFD brings the Config: its length in four bytes (little endian),
	// its JSON, and later one more byte when the parent has put the process
	// under its limits and Python may run. An early end means that the parent
	// is gone.
	ConfigFD = 3

	// StatusFD takes one Running byte just before the interpreter is
	// executed, or the JSON of a Failure. It closes when the interpreter runs.
	StatusFD = 4
)

// Running is written to StatusFD when nothing is left but to execute Python.
const Running = '.'

// Config says what the sandbox is made of.
type Config struct {
	Mounts   []Mount // a parent before what lies in it
	Links    []Link
	Files    []File
	Dir      string // working directory of the interpreter
	UID      int    // user and group inside
	SetID    bool   // UID is another id than the one the stage starts with
	Landlock *Landlock
	CPUs     []uint64 // mask of the processors to run on; empty leaves them
	Rlimits  []Rlimit
	Seccomp  []byte // struct sock_filter, in the machine's byte order
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
	Resource int
	Value    uint64
}

// Failure tells the parent which step was refused, and why.
type Failure struct {
	Step  string
	Errno uintptr // 0 if it was not the kernel that refused
	Text  string
}

func (f *Failure) Error() string { return f.Step + ": " + f.Text }
