package native

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// sharing is the compiled program that has the kernel ask before a process of a
// sandbox maps anonymous memory that it can share.
var sharing = sync.OnceValues(func() (string, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return "", err
	}
	const flags = 16 + 8*3 // of mmap in struct seccomp_data, whose words are in the machine's order
	return encode([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.ID), SkipTrue: 6},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.SyscallNames["mmap"]), SkipTrue: 4},
		bpf.LoadAbsolute{Off: flags, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: unix.MAP_SHARED | unix.MAP_ANONYMOUS},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.MAP_SHARED | unix.MAP_ANONYMOUS, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
})

// A listener answers the kernel's questions, one at a time. Both arguments that
// it looks at are in registers, which nobody can change meanwhile.
type listener struct {
	fd     int
	shared *shared
	queue  []notification // that were taken and not answered yet
	wake   int            // ends the wait for questions
	done   chan struct{}
}

// notification is struct seccomp_notif, and answer struct seccomp_notif_resp.
type notification struct {
	id     uint64
	pid    uint32 // the thread, as this process knows it
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

func newListener(fd int, s *shared) (*listener, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("counting the memory that is shared: %w", err)
	}
	l := &listener{fd: fd, shared: s, wake: wake, done: make(chan struct{})}
	go l.run()
	return l, nil
}

func (l *listener) close() {
	unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-l.done
	unix.Close(l.wake)
	unix.Close(l.fd)
}

func (l *listener) run() {
	defer close(l.done)
	fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
	for {
		if len(l.queue) == 0 {
			switch _, err := unix.Poll(fds, -1); {
			case err == unix.EINTR:
				continue
			case err != nil:
				return
			}
			if fds[1].Revents != 0 || fds[0].Revents&unix.POLLIN == 0 && fds[0].Revents != 0 {
				return // no process is left
			}
			l.take()
			continue
		}
		n := l.queue[0]
		l.queue = l.queue[1:]
		began := time.Now()
		l.shared.grant(int(n.pid), n.args[1], func(allowed bool) bool {
			a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			if !allowed {
				a.flags, a.errno = 0, -int32(unix.ENOMEM)
			}
			return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) == nil
		}, func() bool {
			// Who asks again has come back from what was asked before.
			fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
			for {
				if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents&unix.POLLIN == 0 {
					break
				}
				l.take()
			}
			return slices.ContainsFunc(l.queue, func(other notification) bool { return other.pid == n.pid })
		})
		// As long again: who asks without end does not have all of a processor.
		time.Sleep(min(time.Since(began), 10*time.Millisecond))
	}
}

// take takes a question from the kernel. Who asked it may have ended.
func (l *listener) take() {
	var n notification
	if l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) == nil {
		l.queue = append(l.queue, n)
	}
}

func (l *listener) ioctl(request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// shared is the anonymous memory that the processes of a sandbox can share.
// Its pages stay as long as any part of it is mapped anywhere, whether a page
// table has them or not, and no count of a process tells of them. So each
// mapping counts with the size that it was made with until nobody has any of it.
type shared struct {
	first  int
	limit  int64
	device string // of such memory, in memory maps

	mu    sync.Mutex
	sizes map[string]int64 // by inode
	late  []late
}

// late is what was granted and has not been seen yet.
type late struct {
	thread int
	size   int64
	worked time.Duration // by the thread, when it was granted
}

func newShared(first int, limit int64) (*shared, error) {
	device, err := sharedDevice()
	if err != nil {
		return nil, err
	}
	return &shared{first: first, limit: limit, device: device, sizes: make(map[string]int64)}, nil
}

// sharedDevice is the kernel's own tmpfs, which memory without a file is in.
var sharedDevice = sync.OnceValues(func() (string, error) {
	fd, err := unix.MemfdCreate("bridge", unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("counting the memory that is shared: %w", err)
	}
	defer unix.Close(fd)
	return deviceOf(fd)
})

// size is what all of it counts.
func (s *shared) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum()
}

func (s *shared) sum() (total int64) {
	for _, size := range s.sizes {
		total += size
	}
	for _, l := range s.late {
		total += l.size
	}
	return total
}

// lookFor is how long a new mapping is looked for before it counts as late.
const lookFor = 20 * time.Millisecond

// grant decides on a mapping of a thread, has the kernel told, and looks for it
// until the thread has come back. There is no other on its way: what is found and
// was not known is this one.
func (s *shared) grant(thread int, length uint64, tell func(allowed bool) bool, back func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := func() bool { return length <= uint64(s.limit) && s.sum()+int64(length) <= s.limit }
	if !fits() || len(s.late) > 0 {
		s.settle(thread)
	}
	if !fits() {
		tell(false)
		return
	}
	l := late{thread, int64(length), worked(thread)}
	if !tell(true) {
		return
	}
	s.late = append(s.late, l)
	for began := time.Now(); len(s.late) > 0 && time.Since(began) < lookFor; time.Sleep(50 * time.Microsecond) {
		over := back() || l.over()
		mapped, _ := s.mapped([]int{thread})
		if s.assign(mapped) || over && s.settle(thread) {
			return
		}
	}
}

// over tells whether the thread has come back from its call, or is gone.
func (l late) over() bool {
	const enough = 2 * time.Millisecond // no call without pages takes that
	if worked(l.thread)-l.worked > enough {
		return true
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", l.thread))
	if os.IsNotExist(err) {
		return true
	}
	var number int
	n, _ := fmt.Sscan(string(text), &number) // or "running"
	return n == 1 && number != unix.SYS_MMAP
}

// assign gives mappings that were not known the largest size that was granted
// and not seen. It tells whether there was one.
func (s *shared) assign(mapped map[string]bool) (found bool) {
	for inode := range mapped {
		if _, known := s.sizes[inode]; known {
			continue
		}
		size, at := s.limit, -1 // what was never granted is too much
		for i, l := range s.late {
			if at < 0 || l.size > size {
				size, at = l.size, i
			}
		}
		if at >= 0 {
			s.late = slices.Delete(s.late, at, at+1)
		}
		s.sizes[inode] = size
		found = true
	}
	return found
}

// settle forgets what nobody has mapped any more. The thread given, which asks
// for more, has come back from all calls before. It tells whether nothing is late.
// A process that came meanwhile may have what another one had.
func (s *shared) settle(thread int) bool {
	over := make([]bool, len(s.late))
	for i, l := range s.late {
		over[i] = l.thread == thread || l.over()
	}
	before := descendants(s.first)
	mapped, all := s.mapped(before)
	isNew := func(pid int) bool { return !slices.Contains(before, pid) }
	if !all || slices.ContainsFunc(descendants(s.first), isNew) {
		return false
	}
	if waiting := s.late; !s.assign(mapped) {
		s.late = nil
		for i, l := range waiting {
			if !over[i] {
				s.late = append(s.late, l)
			}
		}
	}
	for inode := range s.sizes {
		if !mapped[inode] {
			delete(s.sizes, inode)
		}
	}
	return len(s.late) == 0
}

// refresh is size, without what nobody has mapped any more.
func (s *shared) refresh() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(0)
	return s.sum()
}

// mapped are the inodes that the processes have mapped, and whether all of their
// memory maps could be read.
func (s *shared) mapped(pids []int) (inodes map[string]bool, all bool) {
	inodes = make(map[string]bool)
	left := int64(4 * mapText)
	for _, pid := range pids {
		file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
		if os.IsNotExist(err) {
			continue // it has ended since
		}
		if err != nil {
			return inodes, false
		}
		text := bufio.NewScanner(io.LimitReader(file, left))
		for text.Scan() {
			left -= int64(len(text.Bytes())) + 1
			if line := text.Text(); strings.Contains(line, s.device) {
				// Addresses, permissions, offset, device, inode.
				if fields := strings.Fields(line); len(fields) > 4 && fields[3] == s.device {
					inodes[fields[4]] = true
				}
			}
		}
		file.Close()
		if left <= 0 {
			return inodes, false
		}
	}
	return inodes, true
}
