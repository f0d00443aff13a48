package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"bridge/sandbox"
)

// reserved are targets that a mount would take from the sandbox itself.
var reserved = []string{"/", "/tmp", "/workspace", "/dev/shm", "/dev", "/proc", "/sys"}

// Mounts are the mounts of a spec that the engine can make. If the engine is
// local, it sees the files that this process sees: then they are looked at, and
// optional ones whose source is missing are left out. Otherwise all optional
// ones are left out.
func Mounts(spec sandbox.Spec, local bool) ([]sandbox.Mount, error) {
	var all []sandbox.Mount
	for _, m := range spec.Mounts {
		_, missing := os.Stat(m.Source)
		if m.Optional && (!local || missing != nil) {
			continue
		}
		if !path.IsAbs(m.Target) || !filepath.IsAbs(m.Source) && !path.IsAbs(m.Source) {
			return nil, fmt.Errorf("mount %q on %q: both must be absolute paths", m.Source, m.Target)
		}
		m.Target = path.Clean(m.Target)
		if slices.Contains(reserved, m.Target) {
			return nil, fmt.Errorf("mount %q on %q: the sandbox has its own there; choose another target, such as /workspace/data", m.Source, m.Target)
		}
		if local && missing != nil {
			var cause *fs.PathError
			if errors.As(missing, &cause) {
				missing = cause.Err
			}
			return nil, fmt.Errorf("mount %q is not on the host: %w; make it, or take it out of the profile's mounts", m.Source, missing)
		}
		if local {
			if err := m.Inspect(); err != nil {
				return nil, err
			}
		}
		all = append(all, m)
	}
	return all, nil
}
