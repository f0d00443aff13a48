// Package owner says whose a container is, so that a bridge can tell which ones
// nobody minds any more: those of a bridge that the machine, or the engine, has
// gone down with.
//
// It knows machines and processes. It does not know engines.
package owner

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Labels of a container that is ours.
const (
	Use   = "bridge.sandbox" // what it is for
	Label = "bridge.owner"   // who has made it
)

// Labels are those of a new container.
func Labels(use, owner string) map[string]string {
	return map[string]string{Use: cmp.Or(use, "sandbox"), Label: owner}
}

// name is the words of an owner's name: a part of one process on one machine. A
// process's number alone may be another's later, or in another numbering.
type name struct {
	machine, boot, pids string
	pid                 int
	start, word         string
}

func (n name) String() string {
	return fmt.Sprintf("%s %s %s %d %s %s", n.machine, n.boot, n.pids, n.pid, n.start, n.word)
}

// New names an owner in this process. No other has the name.
func New() string {
	n := here()
	n.pid = os.Getpid()
	start, _ := startOf(n.pid)
	n.start, n.word = cmp.Or(start, unknown), rand.Text()
	return n.String()
}

// unknown stands for what the system does not tell.
const unknown = "-"

// here is where this process is.
func here() name {
	host, _ := os.Hostname()
	digest := sha256.Sum256([]byte(machineID() + "\x00" + host))
	boot, _ := bootID()
	return name{
		machine: hex.EncodeToString(digest[:8]),
		boot:    cmp.Or(boot, unknown),
		pids:    cmp.Or(numbering(), unknown),
	}
}

func parse(text string) (n name, ok bool) {
	f := strings.Fields(text)
	if len(f) != 6 {
		return name{}, false
	}
	pid, err := strconv.Atoi(f[3])
	return name{f[0], f[1], f[2], pid, f[4], f[5]}, err == nil && pid > 0
}

// Gone tells whether an owner has certainly ended. Of a process on another
// machine, or in a part of this one that numbers its processes for itself,
// nothing can be said, but that it has not outlived a start of its machine.
func Gone(owner string) bool {
	n, ok := parse(owner)
	me := here()
	switch {
	case !ok || n.machine != me.machine || n.boot == unknown || me.boot == unknown:
		return false
	case n.boot != me.boot:
		return true
	case n.pids != me.pids || n.start == unknown:
		return false
	}
	start, err := startOf(n.pid)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && start != n.start
}
