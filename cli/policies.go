package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"bridge/policy"
	"bridge/sandbox/container"
	"bridge/sandbox/engines"
	"bridge/upstream"
)

// choice is which profile of which policies a command is to use.
type choice struct {
	profile  string
	policies []string

	containerfile []byte          // of the bridge's own image
	cmd           *cobra.Command  // whose flags these are
	loaded        *policy.Profile // the last one
	discovery     *discovery      // of that one
}

func (c *choice) flags(cmd *cobra.Command) {
	c.cmd = cmd
	cmd.Flags().StringVar(&c.profile, "profile", "", "the `NAME` of the profile to run under (default the one named default, or else the only one)")
	cmd.Flags().StringArrayVar(&c.policies, "policies", nil, "a policy file or a folder of them, at `PATH` (repeatable)")
}

// load reads the policies and finds the profile, with what the environment
// chooses where the profile leaves a choice, and with the servers that it
// discovers.
func (c *choice) load() (*policy.Profile, error) {
	p, err := policy.Load(c.paths())
	if err != nil {
		return nil, err
	}
	overrides, err := policy.Overrides(os.Environ())
	if err != nil {
		return nil, err
	}
	profile, err := p.Profile(c.profile, overrides...)
	if err != nil {
		return nil, err
	}
	c.profile = profile.Name // it stays that one, whatever else the policies come to have
	if profile, err = c.standing(profile); err != nil {
		return nil, err
	}
	c.loaded, err = c.discover(profile)
	return c.loaded, err
}

// openness says how much the built-in profile allows that mounts whatever is
// found, "" for another one and for nothing found. No server is asked for that.
func (c *choice) openness() string {
	servers, err := c.servers(c.loaded)
	if err != nil || len(servers) == 0 || !c.loaded.BuiltIn() {
		return "" // the mistake is told by who starts them
	}
	set := upstream.New(servers, slog.New(slog.DiscardHandler))
	defer set.Close()
	if folder, err := stateFolder(c.loaded.State); err == nil {
		set.Keep(folder)
	}
	known, unknown := 0, 0
	for _, s := range servers {
		tools, ok := set.Remembered(s.Name)
		if !ok {
			unknown++
		}
		known += len(tools)
	}
	all := counted(len(servers), "server")
	if unknown == 0 {
		return fmt.Sprintf("profile %q allows all %s of %s", c.profile, counted(known, "tool"), all)
	}
	return fmt.Sprintf("profile %q allows every tool of %s: %d are known, those of %s are not yet", c.profile, all, known, counted(unknown, "server"))
}

// counted is a number of things, in words.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// paths are where the policies are: as the command line says, else the
// environment, else the user's own folder. None stands for those built in.
// The current folder is not among them, because a cloned repository must not
// be able to loosen anything.
func (c *choice) paths() []string {
	if len(c.policies) > 0 {
		return inHome(c.policies)
	}
	if list := filepath.SplitList(os.Getenv("BRIDGE_POLICIES")); len(list) > 0 {
		return inHome(list)
	}
	if dir, err := os.UserConfigDir(); err == nil {
		dir = filepath.Join(dir, "bridge", "policies")
		// One that is there and cannot be read must not pass for none.
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return []string{dir}
		}
	}
	return nil
}

// inHome is the paths with the home folder for ~, which no shell has replaced in
// a client's configuration.
func inHome(paths []string) []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return paths
	}
	list := slices.Clone(paths)
	for i, path := range list {
		if path == "~" || strings.HasPrefix(path, "~/") {
			list[i] = filepath.Join(home, path[1:])
		}
	}
	return list
}

// report prints a policy's mistakes, each on a line that begins with its
// position, and returns the exit status.
func report(err error) error {
	fmt.Fprintln(onScreen(os.Stderr), err)
	return exitStatus(1)
}

// engine is what the sandboxes of a profile are made with.
func (c *choice) engine(p *policy.Profile, log *slog.Logger) *engines.Chooser {
	by := ""
	if p.Engine != "" {
		by = p.Source("engine")
	}
	return engines.NewChooser(engines.Named(c.engines(log), p.Engine), by, log)
}

// engines are all engines, in the order in which they are tried.
func (c *choice) engines(log *slog.Logger) []engines.Engine {
	list := engines.All(engines.Options{Image: c.ownImage(), Log: log})
	if _, scenario := c.standIns(); scenario {
		slices.Reverse(list) // native starts at once, without an image
	}
	return list
}

// ownImage is the name of the bridge's own image.
func (c *choice) ownImage() string { return container.OwnImage(c.containerfile) }
