package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newSchema is `bridge schema`: the reference manual of policies.
func newSchema() *cobra.Command {
	var defaults bool
	var module string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "print what a policy may say, as CUE",
		Long: `Schema prints what a policy may say, as CUE, with a sentence for each field.

With --module it writes a CUE module into a folder instead, for editors and for
cue vet. Policies in folders below it are understood if they begin with "package
policy". Editors complete and explain the fields of those profiles, servers and
tools that the policies at PATH name. Write it again for names that are new, or
with a newer version of the bridge: only a schema.cue of its own is replaced.`,
		Example: `  bridge schema
  bridge schema --module ~/.config/bridge ~/.config/bridge/policies`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if module != "" {
				return writeModule(cmd, module, paths)
			}
			if err := noArgs(cmd, paths); err != nil {
				return err
			}
			text := policy.Schema()
			if defaults {
				text = policy.Defaults()
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&defaults, "defaults", false, "print what holds where a policy says nothing")
	cmd.Flags().StringVar(&module, "module", "", "write a CUE module for editors and cue vet into `DIR`")
	cmd.MarkFlagsMutuallyExclusive("defaults", "module")
	return cmd
}

// writeModule writes the files of the module, and names those that it has
// written. One that is there is replaced only if it is an older schema of ours.
func writeModule(cmd *cobra.Command, dir string, paths []string) error {
	var p *policy.Policy
	if len(paths) > 0 {
		var err error
		var mistakes policy.Errors
		if p, err = policy.Load(inHome(paths)); errors.As(err, &mistakes) {
			return report(mistakes)
		} else if err != nil {
			return err
		}
	}
	for _, f := range policy.Module(p) {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		is, err := os.ReadFile(path)
		mark, _, _ := strings.Cut(f.Text, ". ")
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err == nil && string(is) == f.Text, err == nil && f.Name != policy.ModuleSchema:
			continue
		case err == nil && !strings.HasPrefix(string(is), mark):
			return fmt.Errorf("%s: a file of another kind is there", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o644); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), path); err != nil {
			return err
		}
	}
	return nil
}
