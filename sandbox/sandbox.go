// Package sandbox runs one Python session in isolation and speaks to it.
//
// It knows what a sandbox is made of (Spec), who makes one (Engine), and the
// wire to the Python inside (Session). It does not know MCP, policies or the
// names of tools: whatever the guest asks for is handed to one Handler.
package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Spec says what a sandbox is made with. There is no field for a network:
// a sandbox never has one.
type Spec struct {
	Label  string // what the sandbox is for: the profile's name, in messages and labels
	Python string // interpreter or virtual environment on the host; "" leaves the choice to the engine
	Limits Limits
	Mounts []Mount

	Packages Packages // beside those that the interpreter, or the image, has

	Image    string // of a container engine, by name or digest; "" is the bridge's own
	Pull     bool   // whether a container engine fetches an Image that it does not have
	Rootful  bool   // whether a container engine that runs as root may be used
	Enforced bool   // whether a limit that the host cannot hold is an error

	User        string   // of a container, as numbers of user and group, never root's; "" is 65534:65534
	SecurityOpt []string // of a container, in addition to the engine's own and never in their place
}

// Limits bound what the guest may take. A zero field is the engine's own
// default, never "unlimited".
type Limits struct {
	Memory    int64   // bytes, all processes of the sandbox together
	CPUs      float64 // processors' worth of time
	PIDs      int64   // processes and threads
	Files     int64   // open file descriptors of one process
	Tmp       int64   // bytes of /tmp
	Workspace int64   // bytes of /workspace
	Shm       int64   // bytes of /dev/shm
}

// An Engine makes sandboxes.
type Engine interface {
	// Name is the engine's name in policies and messages: native, podman, docker.
	Name() string

	// Ready is nil if a sandbox of this spec could be started now; otherwise
	// it gives the cause and, after "; ", the remedy. It starts nothing that
	// outlives it and fetches nothing.
	Ready(ctx context.Context, spec Spec) error

	// Start makes a sandbox and starts its Python with the given arguments
	// (what follows the interpreter on a command line). The context bounds
	// the start only. What takes long, such as pulling an image, is reported to
	// progress. A sandbox that cannot be made as the spec says is an error: it is
	// never made weaker.
	Start(ctx context.Context, spec Spec, args []string, progress io.Writer) (Sandbox, error)
}

// A Preparer is an engine whose sandboxes take long to make.
type Preparer interface {
	// Prepare makes a warm sandbox, all but started, for the next Start of the
	// same spec and arguments, and returns when it is there. An engine keeps at
	// most one, runs nothing in it, and ends it in its Close.
	Prepare(ctx context.Context, spec Spec, args []string) error
}

// A Sandbox is one running sandbox.
type Sandbox interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader

	// Kill ends every process of the sandbox. It does not wait.
	Kill()

	// Wait returns when no process of the sandbox is left. It may be called
	// more than once and by several goroutines.
	Wait() Exit

	// OutOfMemory tells whether the engine has killed a process of the
	// sandbox for its memory. It is found out, not guessed.
	OutOfMemory() bool

	// Limits tells how each limit is held: "cgroup", "rlimit", "watchdog",
	// "tmpfs", or "" where it is not in force.
	Limits() map[string]string
}

// Exit is how a sandbox's first process ended.
type Exit struct {
	Code   int // exit status, -1 if a signal ended it
	Signal int // the signal's number, 0 if none

	// Engine is what happened to the engine if it went away under the sandbox:
	// then the other fields are what it said last, or a code of -1. Else nil.
	Engine error
}

// A Handler answers one request of the guest. What it returns is sent back as
// JSON. An error of type *Error reaches the guest with its kind; of any other
// error it learns the text. The context ends with the run, when the handler must
// return soon, and otherwise when the answer has been queued for the guest.
type Handler func(ctx context.Context, method string, params json.RawMessage) (any, error)

// Error is a refusal that the guest raises as an exception.
type Error struct {
	Kind    string // "tool", "policy", "server" or "invalid"
	Message string
	Data    any // more for the exception's attributes, may be nil
}

func (e *Error) Error() string { return e.Message }

// Grace is how long the guest has to end a run that was interrupted, or itself,
// before its sandbox is killed.
const Grace = 2 * time.Second

// MaxFrame bounds one line of the wire, in bytes, in both directions.
const MaxFrame = 16 << 20
