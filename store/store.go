// Package store keeps what outlives a session: the memory and the saved tools
// of each profile, and the audit log of all of them.
//
// It knows files and nothing else: not what a profile may do, nor what a
// memory or a record means. Any number of bridges can use one folder at once.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Default is the folder where the state of this user's bridges belongs:
// bridge in XDG_STATE_HOME, which is ~/.local/state unless it is set; on macOS
// and Windows where programs keep their own files.
func Default() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bridge"), nil
	}
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "bridge"), nil
		}
		return "", errors.New("neither XDG_STATE_HOME nor LocalAppData is set")
	case "darwin":
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, "Library", "Application Support", "bridge"), nil
		}
	default:
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, ".local", "state", "bridge"), nil
		}
	}
	return "", errors.New("neither XDG_STATE_HOME nor HOME is set")
}

// A Store is one folder of state.
type Store struct {
	root string
}

// Open returns the store in a folder, which it makes if it is not there.
// Nobody but the user can look into it.
func Open(root string) (*Store, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the bridge's state: %w", err)
	}
	return &Store{root: root}, nil
}

// Project returns what is kept for one profile. It makes its folders, so that
// a sandbox can be shown them.
func (s *Store) Project(profile string) (*Project, error) {
	name := fileName(profile)
	p := &Project{
		dir:   filepath.Join(s.root, "projects", name),
		lock:  filepath.Join(s.root, "locks", name+".lock"),
		local: make(chan struct{}, 1),
	}
	if err := os.MkdirAll(filepath.Dir(p.lock), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of locks: %w", err)
	}
	// These are seen by the user of the sandbox, which is somebody else. Others
	// do not get past the folder above them.
	for _, dir := range []string{filepath.Dir(p.dir), p.dir, p.memory()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making the folder of profile %q: %w", profile, err)
		}
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o055 != 0o055 { // whatever the umask is
			err = os.Chmod(dir, info.Mode().Perm()|0o055)
		}
		if err != nil {
			return nil, fmt.Errorf("making the folder of profile %q readable: %w", profile, err)
		}
	}
	return p, nil
}
