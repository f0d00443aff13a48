package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bridge/policy"
	"bridge/upstream/clients"
)

// registration is the change of a client's configuration that bridge init shows
// or makes.
type registration struct {
	client      string
	write, undo bool
}

func (r *registration) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.client, "client", "", "show how the configuration of the client `NAME` is to be changed: "+strings.Join(clients.Editable(), ", "))
	cmd.Flags().BoolVar(&r.write, "write", false, "with --client: make the change, and keep the file beside it as it was")
	cmd.Flags().BoolVar(&r.undo, "undo", false, "with --client: put the configuration back")
}

// run shows the change, or makes it.
func (r *registration) run(c *choice, out io.Writer) error {
	p, err := policy.Load(c.paths())
	if err != nil {
		var mistakes policy.Errors
		if errors.As(err, &mistakes) {
			return report(mistakes)
		}
		return err
	}
	profile, err := p.Profile(c.profile)
	if err != nil {
		return err
	}
	start, err := r.start(c, profile)
	if err != nil {
		return err
	}
	if r.undo {
		e, err := clients.Undo(r.client, start, clients.Options{})
		if err != nil {
			return err
		}
		if err := e.Write(true); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is as it was\n", e.Path)
		return nil
	}
	defined := map[string]bool{} // which need not be found in the configuration
	for _, s := range profile.Servers {
		defined[s.Name] = true
	}
	e, err := clients.Register(r.client, start, func(name string) bool { return defined[name] }, clients.Options{})
	if err != nil {
		return err
	}
	if !e.Changes() {
		fmt.Fprintf(out, "%s has the bridge already\n", e.Path)
		return nil
	}
	fmt.Fprintf(out, "%s:\n\nadd\n    %s\n", e.Path, strings.ReplaceAll(strings.TrimSpace(e.Entry), "\n", "\n    "))
	if len(e.Out) > 0 {
		fmt.Fprintf(out, "take out, as profile %q defines them\n    %s\n", profile.Name, strings.Join(e.Out, "\n    "))
	}
	if !r.write {
		fmt.Fprintf(os.Stderr, "bridge: nothing was changed\nbridge: hint: --write makes this change\n")
		return nil
	}
	if err := e.Write(false); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bridge: written; before it was as in %s\nbridge: hint: restart the client; bridge init --client %s --undo puts it back\n", e.Backup(), r.client)
	return nil
}

// start is how the client is to start the bridge.
func (r *registration) start(c *choice, p *policy.Profile) (clients.Registration, error) {
	self, err := os.Executable()
	if err != nil {
		return clients.Registration{}, err
	}
	how := clients.Registration{Command: self, Seconds: int(p.Timeout.Max.Seconds()) + 10}
	// What npx and uvx fetch may be gone tomorrow.
	switch slashed := filepath.ToSlash(self); {
	case strings.Contains(slashed, "/_npx/"):
		how.Command, how.Args = "npx", []string{"-y", "mcp-python-bridge"}
	case strings.Contains(slashed, "/uv/") && strings.Contains(slashed, "/archive-"):
		how.Command, how.Args = "uvx", []string{"mcp-python-bridge"}
	}
	how.Args = append(how.Args, "--profile", p.Name)
	for _, path := range inHome(c.policies) {
		if path, err = filepath.Abs(path); err != nil {
			return how, err
		}
		how.Args = append(how.Args, "--policies", path)
	}
	return how, nil
}
