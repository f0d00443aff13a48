package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bridge/harness/standin"
	"bridge/upstream"
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

// replaced are the definitions of what is started for the servers.
func (c *choice) replaced(servers []upstream.Definition) ([]upstream.Definition, error) {
	dir, ok := c.standIns()
	if !ok {
		return servers, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	list := make([]upstream.Definition, len(servers))
	for i, s := range servers {
		list[i] = upstream.Definition{
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
