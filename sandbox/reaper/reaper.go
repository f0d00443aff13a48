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
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// Name is argv[0] of a reaper.
	Name = "bridge-reaper"

	// ready is what a reaper says when it has begun; anything else is why it
	// has not.
	ready = "ready\n"

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
	Serve  bool   // whether the service has to be started
	Dir    string // a folder to be removed in the end
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
	os.Exit(run(os.Stdin, os.Stdout))
}

func run(in io.Reader, out io.WriteCloser) int {
	lines := bufio.NewReader(in)
	var o Orders
	line, err := lines.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &o) != nil {
		return 1
	}
	var s *service
	if o.Dir != "" {
		defer os.RemoveAll(o.Dir)
	}
	if o.Serve {
		if s, err = serve(o); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		defer s.end()
	}
	fmt.Fprint(out, ready)
	out.Close()
	if word, _ := lines.ReadString('\n'); word == done {
		return 0
	}
	o.obey()
	return 0
}
