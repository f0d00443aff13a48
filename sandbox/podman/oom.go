package podman

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// counter is the kernel's own count of the processes that it has killed for
// want of memory in a container. Podman's word for it comes from conmon, which
// on cgroup v1 misses some, and it is about the first process only.
type counter struct{ file *os.File }

// openCounter finds it by the container's cgroup. It is nil where the cgroup
// is not to be seen: on another machine, or in another container.
func openCounter(cgroup string) *counter {
	if cgroup == "" || cgroup == "/" {
		return nil
	}
	for _, path := range []string{
		filepath.Join("/sys/fs/cgroup", cgroup, "memory.events"),             // v2
		filepath.Join("/sys/fs/cgroup/memory", cgroup, "memory.oom_control"), // v1
	} {
		if f, err := os.Open(path); err == nil {
			return &counter{f}
		}
	}
	return nil
}

// kills reads the count. A cgroup that was removed in the meantime tells
// nothing any more.
func (c *counter) kills() int {
	if c == nil {
		return 0
	}
	text := make([]byte, 4<<10)
	n, _ := c.file.ReadAt(text, 0)
	for line := range strings.Lines(string(text[:n])) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, _ := strconv.Atoi(strings.TrimSpace(value))
			return count
		}
	}
	return 0
}

func (c *counter) close() {
	if c != nil {
		c.file.Close()
	}
}
