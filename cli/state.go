package cli

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bridge/policy"
	"bridge/store"
)

// state opens what outlives a session: the folder, and the audit log in it. A
// log that the profile asks for and that cannot be written is an error; all
// else that cannot be had is said, and done without.
func state(p *policy.Profile, log *slog.Logger) (*store.Store, *store.Log, error) {
	s, err := openState(p.State)
	var audit *store.Log
	if err == nil && p.Audit.Enabled {
		audit, err = s.Log(time.Now(), p.Audit.Bytes)
	}
	switch {
	case err == nil:
	case p.Audit.Enabled && p.Audit.Asked:
		return nil, nil, fmt.Errorf("opening the audit log that profile %q asks for: %w\nhint: name a folder that can be written: MCP_BRIDGE_STATE_DIR=/path", p.Name, err)
	case p.Audit.Enabled:
		log.Warn("runs and calls are not written down: there is no audit log", "err", err)
	default:
		log.Warn("code can keep nothing for later sessions", "err", err)
	}
	return s, audit, nil
}

// openState opens the folder that a profile names, or the user's own.
func openState(dir string) (*store.Store, error) {
	dir, err := stateFolder(dir)
	if err != nil {
		return nil, err
	}
	return store.Open(dir)
}

// stateFolder is the folder that a profile names, or the user's own. It need not
// be there.
func stateFolder(dir string) (string, error) {
	if dir == "" {
		usual, err := store.Default()
		if err != nil {
			return "", fmt.Errorf("finding the folder of the bridge's state: %w", err)
		}
		dir = usual
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the home folder: %w", err)
		}
		dir = filepath.Join(home, rest)
	}
	return dir, nil
}
