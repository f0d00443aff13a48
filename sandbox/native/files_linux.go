package native

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// folders are where the guest can write: each is a tmpfs, whose files are
// memory whether a process has them mapped or not.
var folders = []string{"/tmp", "/workspace", "/dev/shm"}

// files are the tmpfs mounts of a sandbox, kept open: what its first process
// becomes later cannot take them out of sight.
type files struct {
	mounts  []int
	devices []string // as in a memory map
}

// openFiles finds them through the first process. It is none when that has
// ended already.
func openFiles(pid int) (*files, error) {
	f := &files{}
	for _, folder := range folders {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/root%s", pid, folder), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			continue
		}
		var dev string
		if err == nil {
			f.mounts = append(f.mounts, fd)
			dev, err = deviceOf(fd)
		}
		if err != nil {
			f.close()
			if cause := crowded(err); cause != nil {
				return nil, cause
			}
			return nil, fmt.Errorf("opening %s of the sandbox, to bound its memory: %w", folder, err)
		}
		f.devices = append(f.devices, dev)
	}
	return f, nil
}

// deviceOf is what a file is on, as in a memory map.
func deviceOf(fd int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)), nil
}

func (f *files) close() {
	for _, fd := range f.mounts {
		unix.Close(fd)
	}
}

// size is what the files take, those without a name too.
func (f *files) size() int64 {
	var total int64
	for _, fd := range f.mounts {
		var st unix.Statfs_t
		if unix.Fstatfs(fd, &st) == nil {
			total += int64(st.Blocks-st.Bfree) * int64(st.Bsize)
		}
	}
	return total
}

// besides is what a process has in memory that is not pages of the files, of
// the proportional size given. It reads no more than what is left to it of a
// memory map, which a process can make long: what it has not seen counts.
func (f *files) besides(pid int, size int64, left *int64) int64 {
	if *left <= 0 {
		return size
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return resident(pid)
	}
	defer file.Close()
	// Each mapping is weighed by itself: the sizes of a whole process are those
	// of another moment, and who shares its pages comes and goes.
	var total, seen, pss int64
	ours := false
	text := bufio.NewScanner(io.LimitReader(file, *left))
	for text.Scan() {
		*left -= int64(len(text.Bytes())) + 1
		fields := strings.Fields(text.Text())
		switch {
		case len(fields) < 2:
		case !strings.HasSuffix(fields[0], ":"): // a mapping: addresses, permissions, offset, device
			ours = len(fields) > 3 && slices.Contains(f.devices, fields[3])
		case fields[0] == "Pss:":
			pss = kib(fields[1])
			seen += pss
			if !ours {
				total += pss
			}
		case ours && fields[0] == "Anonymous:":
			// Pages of a private mapping that were written to are not the file's.
			total += min(pss, kib(fields[1]))
		}
	}
	if *left <= 0 {
		total += max(size-seen, 0)
	}
	return total
}

func kib(field string) int64 {
	n, _ := strconv.ParseInt(field, 10, 64)
	return n << 10
}
