package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bridge/definition"
	"bridge/policy"
)

// newReplay is `bridge replay`: it decides the calls of an audit log again.
func newReplay() *cobra.Command {
	var c choice
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay [--profile NAME] [--policies PATH]... LOG...",
		Short: "say which calls of an audit log other policies would decide otherwise",
		Long: `replay reads audit logs, which are files or folders of .jsonl files, and decides
each call in them again under the policies given, and under the profile that it
was made under unless another one is named. It calls nothing. It prints each call
that would now be allowed, or denied, with its place in the log and the rule's, and
exits with 1 if there is one, with 0 if nothing would change.

What is decided again is what the rules say of a call by itself. Budgets, the
answers of people and the servers' own words on their tools are taken as they
were. Rules on arguments can be asked only about calls whose arguments are in the
log, which they are under a profile that says audit: arguments: true.`,
		Example: `  bridge replay --policies new/ ~/.local/state/bridge/audit
  bridge replay --policies new/ --profile strict --json audit/2026-01-31.jsonl`,
		Args: func(_ *cobra.Command, logs []string) error {
			if len(logs) == 0 {
				return usagef("no log named")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, logs []string) error {
			p, err := policy.Load(c.paths())
			if err != nil {
				var mistakes policy.Errors
				if errors.As(err, &mistakes) {
					return report(mistakes)
				}
				return err
			}
			r := &replay{policy: p, profile: c.profile, profiles: map[string]*policy.Profile{}, open: map[begun]place{}, errors: cmd.ErrOrStderr(), Changes: []change{}}
			if !asJSON {
				r.out = cmd.OutOrStdout()
			}
			return r.run(logs, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&c.profile, "profile", "", "the `NAME` of the profile to decide under (default the one of each call)")
	cmd.Flags().StringArrayVar(&c.policies, "policies", nil, "a policy file or a folder of them, at `PATH` (repeatable)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the changes on stdout, as a JSON object")
	return cmd
}

// replay is what has been found so far. Its exported fields are those of --json.
type replay struct {
	policy   *policy.Policy
	profile  string                     // for all calls, or ""
	profiles map[string]*policy.Profile // nil: there is no such profile, which has been said
	out      io.Writer                  // of the changes as they are found, nil for --json
	errors   io.Writer
	skipped  int // lines and calls that could not be decided on
	open     map[begun]place

	Calls            int      `json:"calls"`
	WithoutArguments int      `json:"withoutArguments"`   // calls whose arguments are not in the log
	Undecided        int      `json:"undecided"`          // those of them whose rule looks at arguments
	Repeated         int      `json:"repeated,omitempty"` // calls that were not sent, as one before, and are not in the log one by one
	Changes          []change `json:"changes"`
}

// logged is what a call's record says that matters here.
type logged struct {
	Time      string          `json:"time"`
	Kind      string          `json:"kind"`
	Session   string          `json:"session"`
	Run       int             `json:"run"`
	Call      int             `json:"call"`
	Count     int             `json:"count"`
	Profile   string          `json:"profile"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Resource  string          `json:"resource"`
	Decision  string          `json:"decision"`
	Denied    string          `json:"denied"`
	Rule      string          `json:"rule"`
	Arguments json.RawMessage `json:"arguments"`
}

// begun names a call that was written down before it was sent, and place is where.
type (
	begun struct {
		session   string
		run, call int
	}
	place struct {
		path string
		line int
		logged
	}
)

// change is a call that would now be decided otherwise.
type change struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Time     string `json:"time"`
	Profile  string `json:"profile"`
	Server   string `json:"server"`
	Tool     string `json:"tool,omitempty"`
	Resource string `json:"resource,omitempty"`
	Was      string `json:"was"` // "allow" or "deny"
	WasRule  string `json:"wasRule,omitempty"`
	Now      string `json:"now"`
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message,omitempty"` // of the denial
}

// run decides on all logs and returns the exit status.
func (r *replay) run(logs []string, w io.Writer) error {
	for _, path := range logs {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			files, _ = filepath.Glob(filepath.Join(path, "*.jsonl")) // in the order of the days
			if len(files) == 0 {
				return fmt.Errorf("%s: no .jsonl file in this folder", path)
			}
		}
		for _, file := range files {
			if err := r.file(file); err != nil {
				return err
			}
		}
	}
	// What has no end in the log may have been made none the less.
	for _, p := range slices.SortedFunc(maps.Values(r.open), func(a, b place) int {
		return cmp.Or(strings.Compare(a.path, b.path), a.line-b.line)
	}) {
		r.call(p.path, p.line, p.logged)
	}
	if r.out == nil {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.errors, "bridge: %d calls, %d would change\n", r.Calls, len(r.Changes))
	if r.WithoutArguments > 0 {
		fmt.Fprintf(r.errors, "bridge: the arguments of %d calls are not in the log; %d of them have rules on arguments and are not decided\n", r.WithoutArguments, r.Undecided)
	}
	if r.Repeated > 0 {
		fmt.Fprintf(r.errors, "bridge: %d more calls were not sent, each as one before it; they are not in the log one by one\n", r.Repeated)
	}
	if len(r.Changes) > 0 || r.skipped > 0 {
		return exitStatus(1)
	}
	return nil
}

// maxRecord bounds a line of a log, in bytes.
const maxRecord = 64 << 20

func (r *replay) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), maxRecord)
	n := 0
	for n = 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var l logged
		if err := json.Unmarshal(line, &l); err != nil || l.Kind == "" {
			r.skip("%s:%d: not a record of an audit log", path, n)
			continue
		}
		switch id := (begun{l.Session, l.Run, l.Call}); l.Kind {
		case "calling":
			r.open[id] = place{path, n, l}
		case "call":
			delete(r.open, id)
			r.call(path, n, l)
		case "repeated":
			r.Repeated += l.Count
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", path, n, err)
	}
	return nil
}

// skip says what cannot be decided on.
func (r *replay) skip(format string, args ...any) {
	r.skipped++
	fmt.Fprintf(r.errors, format+"\n", args...)
}

// call decides one call again.
func (r *replay) call(path string, line int, l logged) {
	r.Calls++
	p := r.under(path, line, l)
	if p == nil || l.Decision == "none" {
		return // nobody was asked then: there is no such tool
	}
	if l.Arguments == nil && l.Resource == "" {
		r.WithoutArguments++
		if p.ReadsArguments(l.Server, l.Tool) {
			r.Undecided++
			return
		}
	}
	// What came after the rules then would have come after them now.
	c := change{
		File: path, Line: line, Time: l.Time, Profile: p.Name, Server: l.Server, Tool: l.Tool, Resource: l.Resource,
		Was: "deny", WasRule: l.Rule, Now: "allow",
	}
	if l.Decision == "allow" || l.Denied == "later" {
		c.Was = "allow"
	}
	var rule policy.Rule
	var err error
	what := l.Server + "." + l.Tool
	if l.Resource != "" {
		what = fmt.Sprintf("resource %s of %s", l.Resource, l.Server)
		rule, err = p.CheckRead(l.Server, l.Resource)
	} else {
		var d policy.Decision
		d, err = p.CheckCall(l.Server, l.Tool, l.Arguments)
		rule = d.Rule
	}
	at := rule.Pos
	if err != nil {
		c.Now, c.Message = "deny", err.Error()
		var denied *policy.Denial
		if errors.As(err, &denied) {
			at = denied.Pos
		}
	}
	if at != (policy.Pos{}) {
		c.Rule = at.String()
	}
	if c.Was == c.Now {
		return
	}
	r.Changes = append(r.Changes, c)
	switch {
	case r.out == nil:
	case err != nil:
		fmt.Fprintf(r.out, "%s:%d: now denied: %v\n", path, line, err)
	default:
		fmt.Fprintf(r.out, "%s:%d: now allowed: %s (%s)\n", path, line, what, at)
	}
}

// under is the profile to decide a call under, nil if there is none.
func (r *replay) under(path string, line int, l logged) *policy.Profile {
	name := r.profile
	if name == "" {
		name = l.Profile
	}
	p, known := r.profiles[name]
	if !known {
		var err error
		if p, err = r.policy.Profile(name); err != nil {
			r.skip("%s:%d: %v; calls under it are not decided", path, line, err)
		}
	} else if p == nil {
		r.skipped++
	}
	if p != nil && len(p.Discover) > 0 {
		// What was discovered then is in the log, by its name.
		p = p.WithServers([]definition.Server{{Name: l.Server}})
	}
	r.profiles[name] = p
	return p
}
