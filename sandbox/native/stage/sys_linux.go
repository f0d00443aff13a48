package stage

import (
	"errors"
	"syscall"
	"unsafe"
)

// System calls that package syscall does not know. All of them came after
// numbers were made the same on every architecture.
const (
	sysOpenTree              = 428
	sysMoveMount             = 429
	sysFsopen                = 430
	sysFsconfig              = 431
	sysFsmount               = 432
	sysCloseRange            = 436
	sysMountSetattr          = 442
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

// Those that are older, and differ.
const (
	sysGetcpuAMD64  = 309
	sysGetcpuARM64  = 168
	sysSeccompAMD64 = 317
	sysSeccompARM64 = 277
)

// Constants of the kernel's headers that package syscall does not know.
const (
	atCwd       = ^uintptr(99) // -100
	atEmptyPath = 0x1000
	atRecursive = 0x8000
	oPath       = 0x200000

	openTreeClone      = 1
	openTreeCloexec    = syscall.O_CLOEXEC
	moveMountEmptyPath = 4
	fsopenCloexec      = 1
	fsmountCloexec     = 1
	fsconfigSetString  = 1
	fsconfigCreate     = 6
	closeRangeCloexec  = 4

	attrReadonly = 1
	attrNosuid   = 2
	attrNodev    = 4

	prSetSeccomp         = 22
	prSetNoNewPrivs      = 38
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
	seccompModeFilter    = 2
	seccompSetModeFilter = 1
	seccompNewListener   = 8
	capabilityVersion3   = 0x20080522

	landlockRulePathBeneath = 1
)

// mountAttr is struct mount_attr.
type mountAttr struct{ set, clear, propagation, userns uint64 }

// sys makes a system call for what it does.
//
//go:uintptrescapes
func sys(step string, number uintptr, args ...uintptr) error {
	_, err := open(step, number, args...)
	return err
}

// open makes a system call for what it returns. The directive keeps what the
// arguments point to alive, and where it is.
//
//go:uintptrescapes
func open(step string, number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	for {
		r, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		switch errno {
		case 0:
			return r, nil
		case syscall.EINTR: // Go's runtime sends itself signals
		default:
			return 0, refused(step, errno)
		}
	}
}

// cstring is used in the arguments of a system call only; its callers pass
// constants and configuration, which stay reachable as long as the process.
func cstring(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept holds the strings that the kernel is given. The process is about to
// become another one; nothing needs to be freed.
var kept [][]byte

// refused makes a Failure of an error, and nil of nil.
func refused(step string, err error) error {
	if err == nil {
		return nil
	}
	f := &Failure{Step: step, Text: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = uint64(errno)
	}
	return f
}

func is(err error, errno syscall.Errno) bool {
	var f *Failure
	return errors.As(err, &f) && f.Errno == uint64(errno)
}
