package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"bridge/policy"
)

// stateFolder is the folder of what outlives the bridge: the one that the
// profile names, or the user's own. It need not be there.
func stateFolder(p *policy.Profile) (string, error) {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(p.State, "~/"); ok {
		return filepath.Join(home, rest), err
	}
	if p.State != "" {
		return p.State, nil
	}
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
		return filepath.Join(home, "Library", "Application Support", "bridge"), err
	}
	return filepath.Join(home, ".local", "state", "bridge"), err
}
