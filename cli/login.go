package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
)

func newLogin() *cobra.Command {
	var c choice
	var o upstream.LoginOptions
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "login [--profile NAME] SERVER",
		Short: "log in to a server over HTTP that asks for it",
		Long: `login has you log in to an MCP server over HTTP, in your browser. It prints the page
to go to, and opens it where there is a browser to be found: the one that the
variable BROWSER names, else that of your desktop.

What comes of it is kept in the folder of the state, for you alone to read, and is
renewed when it has run out. It never enters the sandbox.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("login takes the name of one server")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.login(args[0], o, wait) },
	}
	c.flags(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 5*time.Minute, "how long to wait for the browser to come back")
	cmd.Flags().StringVar(&o.ClientID, "client-id", "", "the `ID` of a client that is registered with the server's login (default one is registered now)")
	cmd.Flags().IntVar(&o.Port, "port", 0, "the `PORT` of this machine that the browser is sent back to (default any)")
	return cmd
}

func (c *choice) login(name string, o upstream.LoginOptions, wait time.Duration) error {
	p, err := c.load()
	var list policy.Errors
	switch {
	case errors.As(err, &list):
		return report(list)
	case err != nil:
		return err
	}
	var def *definition.Server
	var names []string
	servers, err := c.servers(p)
	if err != nil {
		return err
	}
	for _, d := range servers {
		names = append(names, d.Name)
		if d.Name == name {
			def = &d
		}
	}
	switch {
	case def == nil:
		return &policy.UnknownServer{Server: name, Profile: p.Name, Servers: names}
	case def.URL == "":
		return fmt.Errorf("server %q is a program, which nobody can log in to", name)
	}
	if o.Dir, err = stateFolder(p.State); err != nil {
		return err
	}
	o.Show = func(page string) {
		fmt.Fprintf(onScreen(os.Stderr), "bridge: log in to %q in your browser: %s\n", name, page)
		browse(page)
	}
	ctx, stop := signals()
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("the browser did not come back within %v", wait))
	defer cancel()
	if err := upstream.Login(ctx, *def, o); err != nil {
		return fmt.Errorf("logging in to server %q: %w", name, err)
	}
	fmt.Fprintf(onScreen(os.Stderr), "bridge: logged in to %q\n", name)
	return nil
}

// browse opens a page, if there is a browser to be found. The page has been
// printed, so that nothing is lost if there is not.
func browse(page string) {
	var command []string
	browser := strings.Fields(os.Getenv("BROWSER"))
	switch {
	case len(browser) > 0:
		command = append(browser, page)
	case runtime.GOOS == "darwin":
		command = []string{"open", page}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", page}
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		command = []string{"xdg-open", page}
	default:
		return
	}
	cmd := exec.Command(command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(onScreen(os.Stderr), "bridge: no browser was opened: %v\n", err)
		return
	}
	go cmd.Wait() // it is the user's, and may stay
}
