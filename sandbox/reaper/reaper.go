// Package reaper is the small process that stays when a bridge is killed, to
// remove the containers that it has left on one engine. Containers are children
// of no process of ours, code in one can keep it alive, and one that was made
// and not yet started would stay for ever.
//
// The bridge starts itself again under the name Name; this package then takes
// over before main, and before any large package is initialised. It imports
// the standard library only. It reads its orders, starts a service of podman
// if they say so, and waits. When the pipe ends without the word Done, the
// bridge is gone: whatever carries its label is removed. The service ends with
// the reaper in any case.
package reaper

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
)

const (
	// Name is argv[0] of a reaper.
	Name = "bridge-reaper"

	// done is what it is told when there is nothing to remove.
	done = "done\n"
)

// Orders are the first line that a reaper reads.
type Orders struct {
	Socket     string // of the engine
	Containers string // the path of its containers in its HTTP interface
	Force      string // the query of the removal of one that runs
	Label      string // NAME=VALUE of those to remove

	// Of podman alone.
	Podman string // the program, "" if there is none
	Serve  bool   // whether the service has to be started, on a socket in the folder
	Folder string // what the name of the temporary folder begins with that it makes, "" for none
}

// An answer is what a reaper says, in a line, when it has begun or cannot.
type answer struct {
	Socket string // of the engine
	Dir    string // the folder that it has made, and removes in the end
	Error  string // why it has not begun
}

// init runs the reaper, and does not return, in a process that was started as
// one.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	// What a service is told by the death of its parent is by that of the
	// thread which started it.
	runtime.LockOSThread()
	debug.SetGCPercent(20)
	// Nor does it end because nobody reads what it says. Ignored, the signal
	// would be so in all that it starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Stdin, os.Stdout))
}

func run(in io.Reader, out io.WriteCloser) int {
	lines := bufio.NewReader(in)
	var o Orders
	line, err := lines.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &o) != nil {
		return 1
	}
	over := make(chan string, 1) // the last that the bridge says
	go func() {
		word, _ := lines.ReadString('\n')
		over <- word
	}()
	a := answer{Socket: o.Socket}
	say := json.NewEncoder(out)
	if o.Folder != "" {
		if a.Dir, err = os.MkdirTemp(folder(), o.Folder); err != nil {
			say.Encode(answer{Error: err.Error()})
			return 1
		}
		defer os.RemoveAll(a.Dir)
	}
	if o.Serve {
		a.Socket = filepath.Join(a.Dir, "podman.sock")
		s, err := serve(o.Podman, a, over)
		if err != nil {
			say.Encode(answer{Error: err.Error()})
			return 1
		}
		defer s.end()
	}
	say.Encode(a)
	out.Close()
	if <-over != done {
		o.Socket = a.Socket
		o.obey()
	}
	return 0
}

// folder is where temporary folders are made. A socket's path has little room:
// 108 bytes on Linux. In a folder that is too deep for one, /tmp has to do.
func folder() string {
	const most = 70
	if dir := os.TempDir(); len(dir) <= most || runtime.GOOS == "windows" {
		return dir
	}
	return "/tmp"
}
