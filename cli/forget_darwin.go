package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget discards what was typed at a terminal and not read: it was typed
// before a question was shown, and is not an answer to it.
func forget(f *os.File) { unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) }
