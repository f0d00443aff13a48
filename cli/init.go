package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
	"bridge/upstream/clients"
)

// newInit is `bridge init`: it writes a policy to begin with.
func newInit() *cobra.Command {
	var i initial
	var r registration
	var c choice
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a policy for the servers that other clients have, and put the bridge in front of them",
		Long: `Init looks for servers in the configurations of the other MCP clients on this
machine, starts them, and writes a policy with their definitions and with their
tools as they are now: those that their servers call read-only are allowed, and the
others are commented out. The policy holds without those configurations.

Values that may be secret are not copied: "${NAME}" stands for each, which is a
variable of the bridge's environment to be set, and a comment says which.

With --client it shows how that client's configuration is to be changed: the
bridge is added, with the profile, and the servers that the policy defines are taken
out, since the agent could call them past the policy. --write makes the change, and
--undo puts it back.`,
		Example: `  bridge init
  bridge init --profile mine -o ~/.config/bridge/policies/mine.cue
  bridge init --client claude-code --profile mine --write
  bridge init --client claude-code --undo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.client == "" && (r.write || r.undo || len(c.policies) > 0) {
				return usagef("--write, --undo and --policies are for --client")
			}
			if r.client != "" {
				if i.file != "" || i.force {
					return usagef("-o and --force are for a policy; --client is for a client")
				}
				if r.write && r.undo {
					return usagef("--write or --undo, not both")
				}
				if cmd.Flags().Changed("profile") {
					c.profile = i.profile
				}
				return r.run(&c, cmd.OutOrStdout())
			}
			ctx, stop := signals()
			defer stop()
			if i.file == "" {
				text, err := i.policy(ctx)
				if err == nil {
					_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				}
				return err
			}
			i.file = inHome([]string{i.file})[0]
			return i.write(ctx)
		},
	}
	cmd.Flags().StringVar(&i.profile, "profile", "mine", "the `NAME` of the profile to write")
	cmd.Flags().StringVarP(&i.file, "output", "o", "", "write to `FILE` rather than to stdout")
	cmd.Flags().BoolVar(&i.force, "force", false, "write over the file, if it is there")
	cmd.Flags().StringArrayVar(&c.policies, "policies", nil, "with --client: a policy file or a folder of them, at `PATH` (repeatable)")
	r.flags(cmd)
	return cmd
}

// initial is a policy to begin with.
type initial struct {
	profile string
	file    string
	force   bool
	wanted  []string // variables that stand for what is not copied
}

const head = `// A policy for the MCP servers that the other clients on this machine have. Of
// their tools, those are allowed that their servers call read-only. Remove the //
// before what an agent may call as well; "bridge schema" prints what can be said
// of a tool, and "bridge vet" reports mistakes.
//
// The servers need not stay in the configurations of those clients. "${NAME}" is a
// variable of the bridge's environment: set it, as "env" in the configuration of
// the bridge's client does, before you remove the value that it stands for.

package policy

profiles: %s: description: "Tools that only read."
`

// policy is its text, vetted.
func (i *initial) policy(ctx context.Context) (string, error) {
	log, err := newLog(slog.LevelWarn)
	if err != nil {
		return "", report(err)
	}
	text := fmt.Sprintf(head, policy.Label(i.profile))
	if err := i.vet(text); err != nil {
		return "", fmt.Errorf("writing profile %q: %w", i.profile, err)
	}
	found, warnings := clients.Find([]string{clients.All}, clients.Options{})
	for _, w := range warnings {
		log.Warn(w.String())
	}
	defs := make([]definition.Server, len(found))
	for n, f := range found {
		defs[n] = f.Server
	}
	servers := upstream.New(defs, log)
	defer servers.Close()
	tools := make([][]definition.Tool, len(found))
	errs := make([]error, len(found))
	var wg sync.WaitGroup
	for n, f := range found {
		wg.Go(func() { tools[n], errs[n] = servers.Tools(ctx, f.Name) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	hidden := newHidden(defs)
	for n, f := range found {
		text += "\n" + i.mounted(f, hidden, tools[n], errs[n])
	}
	i.wanted = hidden.names
	if err := i.vet(text); err != nil {
		return "", fmt.Errorf("writing profile %q: %w", i.profile, err)
	}
	return text, nil
}

// mounted is a server that was found, and its tools. Where nothing of it is
// allowed, it is a comment.
func (i *initial) mounted(f clients.Found, hidden *hidden, tools []definition.Tool, err error) string {
	about := "From " + said(atHome(f.Source.String()), 400) + "."
	def, wanted := hidden.definition(f.Server)
	if len(wanted) > 0 {
		about += " It wants " + strings.Join(wanted, ", ") + " in the bridge's environment."
	}
	var b strings.Builder
	define(&b, def)
	fmt.Fprintf(&b, "profiles: %s: servers: %s: tools: {", policy.Label(i.profile), policy.Label(f.Name))
	reads := false
	for _, t := range tools {
		if text := said(t.Description, 100); text != "" {
			fmt.Fprintf(&b, "\n\t// %s", text)
		}
		// Should its server say something else some day, it is not allowed.
		mark, rule := "// ", "{}"
		if readOnly(t) {
			mark, rule, reads = "", "readOnly: true", true
		}
		fmt.Fprintf(&b, "\n\t%s%s: %s", mark, policy.Label(t.Name), rule)
	}
	if len(tools) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	text := b.String()
	if err == nil && len(tools) == 0 {
		err = errors.New("it has no tools")
	}
	if err != nil {
		about += " Its tools are not known: " + said(hidden.redact(err.Error()), 400)
	}
	if err := i.vet(text); err != nil {
		about += " A policy cannot have it as it is: " + said(err.Error(), 400)
		reads = false
	}
	if !reads {
		text = "// " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n// ") + "\n"
	}
	return "// " + about + "\n" + text
}

// define writes down a server.
func define(b *strings.Builder, d definition.Server) {
	fmt.Fprintf(b, "servers: %s: {\n", policy.Label(d.Name))
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "\t%s: %s\n", name, policy.Text(value))
		}
	}
	table := func(name string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(b, "\t%s: %s: %s\n", name, policy.Label(key), policy.Text(values[key]))
		}
	}
	field("description", d.Description)
	field("command", d.Command)
	if len(d.Args) > 0 {
		list := make([]string, len(d.Args))
		for n, arg := range d.Args {
			list[n] = policy.Text(arg)
		}
		fmt.Fprintf(b, "\targs: [%s]\n", strings.Join(list, ", "))
	}
	table("env", d.Env)
	field("envFile", d.EnvFile)
	field("cwd", d.Cwd)
	field("url", d.URL)
	table("headers", d.Headers)
	field("transport", d.Transport)
	for name, wait := range map[string]time.Duration{"start": d.StartTimeout, "call": d.CallTimeout} {
		if wait > 0 {
			fmt.Fprintf(b, "\ttimeout: %s: %v\n", name, wait.Seconds())
		}
	}
	b.WriteString("}\n")
}

// atHome is a path with ~ for the home folder.
func atHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// readOnly reports whether the tool can be called, and the server says that it changes nothing.
func readOnly(t definition.Tool) bool {
	var hints struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	return !t.TaskOnly && json.Unmarshal(t.Annotations, &hints) == nil && hints.ReadOnly
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
		return errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return nil
}

// write makes the file, and its folder, before it starts any server: what cannot
// be written is not worth the wait.
func (i *initial) write(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(i.file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(i.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		if !i.force {
			return fmt.Errorf("%s is there already\nhint: --force writes over it", i.file)
		}
		f, err = os.OpenFile(i.file, os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	text, err := i.policy(ctx)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		if made {
			os.Remove(i.file)
		}
		return err
	}
	if len(i.wanted) > 0 {
		fmt.Fprintf(os.Stderr, "bridge: hint: set %s in the environment of the bridge: their values were not copied\n", strings.Join(i.wanted, ", "))
	}
	fmt.Fprintf(os.Stderr, "bridge: hint: bridge --profile %s --policies %s\n", i.profile, i.file)
	return nil
}
