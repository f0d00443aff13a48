package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"bridge/definition"
	"bridge/harness/standin"
	"bridge/policy"
)

// The words of the command line that put stand-ins in the place of servers.
// bridge test says them to the bridges of its scenarios. They are nothing that
// a policy or a variable of the environment could say.
const (
	standInFlag    = "stand-ins"
	standInCommand = "stand-in"
)

// standIns is the folder of what stands in for the servers, if given. Then no
// server is started but those.
func (c *choice) standIns() (string, bool) {
	if c.cmd == nil {
		return "", false
	}
	flag := c.cmd.Flag(standInFlag)
	return flag.Value.String(), flag.Changed
}

// standing is a profile with nothing real behind it, in a scenario: what is kept
// is kept in the scenario's own home, and folders of the host are those of the
// scenario. Outside of one it is the profile.
func (c *choice) standing(p *policy.Profile) (*policy.Profile, error) {
	dir, ok := c.standIns()
	if !ok {
		return p, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	q := *p
	q.State = ""
	q.Mounts, err = standingFolders(filepath.Dir(dir), p.Mounts)
	return &q, err
}

// servers are the definitions of what is started for the servers of a profile:
// in a scenario, of what stands in for them.
func (c *choice) servers(p *policy.Profile) ([]definition.Server, error) {
	servers := p.Servers
	dir, ok := c.standIns()
	if !ok {
		return servers, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	list := make([]definition.Server, len(servers))
	for i, s := range servers {
		list[i] = definition.Server{
			Name: s.Name, Description: s.Description, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout,
		}
		file := standin.Find(dir, s.Name)
		if file == "" {
			list[i].Absent = fmt.Sprintf("nothing stands in for it: the scenario has no %s/%s.py, .cue or .json", filepath.Base(dir), s.Name)
			continue
		}
		list[i].Command = self
		list[i].Args = []string{standInCommand, file, filepath.Join(filepath.Dir(dir), s.Name+".log")}
	}
	return list, nil
}

// standingFolders are the mounts, each of what the scenario has in mounts/ for
// its target. Where it has nothing, that is an empty folder.
func standingFolders(scenario string, mounts []policy.Folder) ([]policy.Folder, error) {
	list := slices.Clone(mounts)
	for i := range list {
		list[i].Source = filepath.Join(scenario, "mounts", filepath.FromSlash(list[i].Target))
		if _, err := os.Stat(list[i].Source); err == nil {
			continue
		}
		if err := os.MkdirAll(list[i].Source, 0o777); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// standingFound are the servers that a profile which looks for them finds in a
// scenario: those that it has stand-ins for.
func standingFound(dir string) []definition.Server {
	var list []definition.Server
	for _, name := range standin.Servers(dir) {
		list = append(list, definition.Server{Name: name, Command: standInCommand})
	}
	return list
}

// newStandIn is the command that serves one stand-in.
func newStandIn() *cobra.Command {
	return &cobra.Command{
		Use:    standInCommand + " FILE LOG",
		Short:  "be the server of a scenario",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if status := standin.Main(args[0], args[1]); status != 0 {
				return exitStatus(status)
			}
			return nil
		},
	}
}
