package container

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

// Labels of a bridge's container.
const (
	UseLabel   = "bridge.sandbox" // the Label of its spec
	OwnerLabel = "bridge.owner"   // the engine that made it, a name that NewOwner gave
)

// Labels are those of a new container.
func Labels(use, owner string) map[string]string {
	return map[string]string{UseLabel: cmp.Or(use, "sandbox"), OwnerLabel: owner}
}

// ownerName identifies an engine: a part of one process on one machine. A
// process's number alone is not enough: it may be used again, or belong to
// another pid namespace.
type ownerName struct {
	machine, boot, pids string
	pid                 int
	start, word         string
}

func (n ownerName) String() string {
	return fmt.Sprintf("%s %s %s %d %s %s", n.machine, n.boot, n.pids, n.pid, n.start, n.word)
}

// NewOwner returns a unique name for an engine of this process.
func NewOwner() string {
	n := here()
	n.pid = os.Getpid()
	start, _ := startOf(n.pid)
	n.start, n.word = cmp.Or(start, unknown), rand.Text()
	return n.String()
}

// unknown stands for a value that the system does not give.
const unknown = "-"

// here is the machine, the boot and the pid namespace of this process.
func here() ownerName {
	host, _ := os.Hostname()
	digest := sha256.Sum256([]byte(machineID() + "\x00" + host))
	boot, _ := bootID()
	return ownerName{
		machine: hex.EncodeToString(digest[:8]),
		boot:    cmp.Or(boot, unknown),
		pids:    cmp.Or(pidNamespace(), unknown),
	}
}

func parseOwner(text string) (n ownerName, ok bool) {
	f := strings.Fields(text)
	if len(f) != 6 {
		return ownerName{}, false
	}
	pid, err := strconv.Atoi(f[3])
	return ownerName{f[0], f[1], f[2], pid, f[4], f[5]}, err == nil && pid > 0
}

// Gone reports whether an owner has certainly ended. A process on another
// machine, or in another pid namespace, cannot be seen from here; it is gone
// only if this machine has been restarted since.
func Gone(owner string) bool {
	n, ok := parseOwner(owner)
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
