package stage

import (
	"runtime"
	"syscall"
	"unsafe"
)

// dropPrivileges gives up what the stage needed: nothing may come back, so
// the bounding and ambient sets go first, then the ids, then the rest.
func dropPrivileges(c *Config) error {
	for capability := uintptr(0); ; capability++ {
		err := sys("dropping the bounding set", syscall.SYS_PRCTL, syscall.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if is(err, syscall.EINVAL) && capability > 0 {
			break // past the last capability of this kernel
		}
		if err != nil {
			return err
		}
	}
	if err := sys("clearing the ambient set", syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0); err != nil {
		return err
	}
	if c.SetID {
		id := uintptr(c.UID)
		if err := sys("setgroups", syscall.SYS_SETGROUPS, 0, 0); err != nil {
			return err
		}
		if err := sys("setresgid", syscall.SYS_SETRESGID, id, id, id); err != nil {
			return err
		}
		if err := sys("setresuid", syscall.SYS_SETRESUID, id, id, id); err != nil {
			return err
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [6]uint32 // effective, permitted and inheritable, twice
	if err := sys("capset", syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none))); err != nil {
		return err
	}
	return sys("no_new_privs", syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0)
}

// dieWithParent asks again for the signal at the parent's death, which a
// change of ids takes away, and looks whether it came too late.
func dieWithParent() error {
	if err := sys("pdeathsig", syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	// The parent's pid does not exist in here, but its end of the status pipe
	// does as long as it lives.
	p := struct {
		fd              int32
		events, revents int16
	}{fd: StatusFD}
	var now syscall.Timespec
	if err := sys("poll", syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0); err != nil {
		return err
	}
	if p.revents != 0 {
		return &Failure{Step: "pdeathsig", Text: "the parent is gone"}
	}
	return nil
}

// noRuleset stands for a kernel without Landlock.
const noRuleset = ^uintptr(0)

// newRuleset says with Landlock what the tree says already, so that a mistake
// in the one is not enough.
func newRuleset(l *Landlock) (uintptr, error) {
	if l == nil {
		return noRuleset, nil
	}
	attr := struct{ fs, net, scoped uint64 }{l.FS, l.Net, l.Scoped}
	fd, err := open("landlock_create_ruleset", sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if err != nil {
		return 0, err
	}
	for _, r := range l.Rules {
		at, err := syscall.Open(r.Path, oPath|syscall.O_CLOEXEC, 0)
		if err == syscall.ENOENT {
			continue
		}
		if err != nil {
			return 0, refused("open "+r.Path, err)
		}
		// struct landlock_path_beneath_attr is packed: twelve bytes count.
		beneath := struct {
			access uint64
			fd     int32
		}{r.Access, int32(at)}
		err = sys("landlock_add_rule "+r.Path, sysLandlockAddRule, fd, landlockRulePathBeneath, uintptr(unsafe.Pointer(&beneath)), 0)
		syscall.Close(at)
		if err != nil {
			return 0, err
		}
	}
	return fd, nil
}

func restrict(ruleset uintptr) error {
	if ruleset == noRuleset {
		return nil
	}
	return sys("landlock_restrict_self", sysLandlockRestrictSelf, ruleset, 0)
}

// processor is the one that this thread runs on, where the scheduler has put
// it for being the least busy.
func processor() uint64 {
	number := uintptr(sysGetcpuAMD64)
	if runtime.GOARCH == "arm64" {
		number = sysGetcpuARM64
	}
	var cpu uint32
	if sys("getcpu", number, uintptr(unsafe.Pointer(&cpu)), 0, 0) != nil {
		return 0
	}
	return uint64(cpu)
}

// choose takes so many processors out of a mask, from the first one on and
// round.
func choose(mask []uint64, count, first uint64) []uint64 {
	all := uint64(len(mask)) * 64
	chosen := make([]uint64, len(mask))
	for i := range all {
		cpu := (first + i) % all
		if word, bit := cpu/64, uint64(1)<<(cpu%64); count > 0 && mask[word]&bit != 0 {
			chosen[word] |= bit
			count--
		}
	}
	return chosen
}

func setAffinity(mask []uint64) error {
	if len(mask) == 0 {
		return nil
	}
	return sys("sched_setaffinity", syscall.SYS_SCHED_SETAFFINITY, 0, uintptr(len(mask)*8), uintptr(unsafe.Pointer(&mask[0])))
}

// lowered is the value that a limit can get. The hard one cannot be raised
// without a capability that root does not always have, so the lower of the two
// counts.
func lowered(l Rlimit) (uint64, error) {
	var now [2]uint64
	if err := sys("getrlimit", syscall.SYS_PRLIMIT64, 0, uintptr(l.Resource), 0, uintptr(unsafe.Pointer(&now))); err != nil {
		return 0, err
	}
	return min(l.Value, now[1]), nil
}
