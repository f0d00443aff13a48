package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"bridge/policy"
	"bridge/upstream"
	"bridge/upstream/clients"
)

// newInit is `bridge init`: it writes a policy to begin with.
func newInit() *cobra.Command {
	var i initial
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a policy for the servers that other clients have",
		Long: `Init looks for servers in the configurations of the other MCP clients on this
machine, starts them, and writes a policy with their tools as they are now: those
that their servers call read-only are allowed, and the others are commented out.
The servers themselves stay where they are configured; nothing of their
environment is written.`,
		Example: `  bridge init
  bridge init --profile mine -o ~/.config/bridge/policies/mine.cue`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := i.policy(cmd.Context())
			if err != nil {
				return err
			}
			if i.file == "" {
				_, err := fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			}
			return i.write(text)
		},
	}
	cmd.Flags().StringVar(&i.profile, "profile", "mine", "the `NAME` of the profile to write")
	cmd.Flags().StringVarP(&i.file, "output", "o", "", "write to `FILE` rather than to stdout")
	cmd.Flags().BoolVar(&i.force, "force", false, "write over the file, if it is there")
	return cmd
}

// initial is a policy to begin with.
type initial struct {
	profile string
	file    string
	force   bool
}

// policy is its text, vetted.
func (i *initial) policy(ctx context.Context) (string, error) {
	log, err := newLog(slog.LevelWarn)
	if err != nil {
		return "", report(err)
	}
	found, warnings := clients.Find([]string{clients.All}, clients.Options{})
	for _, w := range warnings {
		log.Warn(w.String())
	}
	defs := make([]upstream.Definition, len(found))
	for n, f := range found {
		defs[n] = f.Definition
	}
	servers := upstream.New(defs, log)
	defer servers.Close()
	parts := make([]string, len(found))
	var wg sync.WaitGroup
	for n, f := range found {
		wg.Go(func() {
			tools, err := servers.Tools(ctx, f.Name)
			parts[n] = mounted(f, tools, err)
		})
	}
	wg.Wait()
	text := fmt.Sprintf(head, policy.Label(i.profile)) + strings.Join(parts, "\n") + tail
	return text, i.vet(text)
}

const head = `// A policy for the MCP servers that the other clients on this machine have. Of
// their tools, those are allowed that their servers call read-only. Remove the //
// before what an agent may call as well; "bridge schema" prints what can be said
// of a tool, and "bridge vet" reports mistakes.

package policy

profiles: %s: {
	// Where the servers are configured.
	discover: ["clients"]

	servers: {
`

const tail = "\t}\n}\n"

// mounted is a server that was found, and its tools.
func mounted(f clients.Found, tools []upstream.Tool, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\t\t// From %s.\n", said(atHome(f.Source.String()), 400))
	if err == nil && len(tools) == 0 {
		err = errors.New("it has no tools")
	}
	if err != nil {
		fmt.Fprintf(&b, "\t\t// Its tools are not known: %s\n\t\t// %s: tools: {}\n", said(err.Error(), 400), policy.Label(f.Name))
		return b.String()
	}
	comment := "// "
	for _, t := range tools {
		if readOnly(t) {
			comment = ""
		}
	}
	fmt.Fprintf(&b, "\t\t%s%s: tools: {\n", comment, policy.Label(f.Name))
	for _, t := range tools {
		if text := said(t.Description, 100); text != "" {
			fmt.Fprintf(&b, "\t\t\t// %s\n", text)
		}
		mark := "// "
		if readOnly(t) {
			mark = ""
		}
		fmt.Fprintf(&b, "\t\t\t%s%s: {}\n", mark, policy.Label(t.Name))
	}
	fmt.Fprintf(&b, "\t\t%s}\n", comment)
	return b.String()
}

// atHome is a path with ~ for the home folder.
func atHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// readOnly reports whether the server says that the tool changes nothing.
func readOnly(t upstream.Tool) bool {
	var hints struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	return json.Unmarshal(t.Annotations, &hints) == nil && hints.ReadOnly
}

// said is what a server says, in a line of a comment, of at most so many
// characters.
func said(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// vet finds mistakes in what is about to be written.
func (i *initial) vet(text string) error {
	dir, err := os.MkdirTemp("", "bridge-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "policy.cue")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := policy.Load([]string{name}); err != nil {
		return fmt.Errorf("writing profile %q: %s", i.profile, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return nil
}

// write makes the file.
func (i *initial) write(text string) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if i.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(i.file, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already\nhint: --force writes over it", i.file)
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bridge: hint: bridge --profile %s --policies %s\n", i.profile, i.file)
	return nil
}
