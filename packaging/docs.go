package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"bridge/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// tree is the commands that have help, the first of them the program itself.
func tree(program string) []*cobra.Command {
	root := cli.Command(nil)
	root.Use = program
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	var all []*cobra.Command
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c != root || c.IsAdditionalHelpTopicCommand() || c.Name() == "completion" {
			return
		}
		c.InitDefaultHelpFlag()
		all = append(all, c)
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(root)
	return all
}

// manuals are the manual pages.
func manuals(program, version string, at time.Time) ([]file, error) {
	var all []file
	for _, c := range tree(program) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		var page bytes.Buffer
		header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: program + " " + version, Date: &at}
		if err := doc.GenMan(c, header, &page); err != nil {
			return nil, err
		}
		all = append(all, file{name: path.Join("man", name+".1"), data: page.Bytes()})
	}
	return all, nil
}

// completions are what shells complete the program's arguments with.
func completions(program string) ([]file, error) {
	root := tree(program)[0]
	var all []file
	for _, c := range []struct {
		name string
		make func(*bytes.Buffer) error
	}{
		{program + ".bash", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"_" + program, func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
		{program + ".fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
		{program + ".ps1", func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) }},
	} {
		var text bytes.Buffer
		if err := c.make(&text); err != nil {
			return nil, err
		}
		all = append(all, file{name: path.Join("completions", c.name), data: text.Bytes()})
	}
	return all, nil
}

// commands is docs/commands.md: what --help says of each command.
func commands() []byte {
	var b strings.Builder
	b.WriteString("# Commands\n\nWhat `bridge COMMAND --help` says. This page is made from it by `make docs`.\n")
	for _, c := range tree("bridge") {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n    %s\n", c.CommandPath(), capital(c.Short), c.UseLine())
		if c.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", blocks(c.Long))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\nFor example:\n\n%s\n", indent(c.Example))
		}
		var rows []string
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace(name+" "+value), strings.ReplaceAll(usage, "|", "\\|")))
		})
		slices.Sort(rows)
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n| option | |\n|---|---|\n%s", strings.Join(rows, ""))
		}
	}
	return []byte(b.String())
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// blocks are paragraphs; what is indented stays as it is.
func blocks(text string) string { return strings.TrimRight(text, "\n") }

// indent has examples stand as code.
func indent(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, "    "+strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}
