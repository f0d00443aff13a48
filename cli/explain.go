package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newExplain is `bridge explain`: what a profile allows, and why.
func newExplain() *cobra.Command {
	var c choice
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [SERVER[.TOOL [JSON]] | SERVER URI]",
		Short: "tell what a profile allows, and which rule says so",
		Long: `Explain shows a profile as it is in force: each value, and what has set it: a place
in the policy, a variable of the environment, or nothing ("default"). With a
server it shows the rules of its tools, and of its resources. With a tool it shows
the rules that the tool has, and what they come to together.

With arguments, as a JSON object (- reads it from stdin), it decides on that call
as is done when code makes it, and says what else has to hold: the budgets, what the
server must say of the tool, and whether a person is asked. With the URI of a
resource it decides on reading that.

The exit status is 0 if the call is allowed, 1 if it is denied, 3 if a person is
asked, and 2 if there is no decision.`,
		Example: `  bridge explain --profile strict
  bridge explain --profile strict github
  bridge explain --profile strict github.create_issue '{"owner": "acme", "repo": "site"}'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 2:
				return usagef("unexpected argument %q", args[2])
			case len(args) == 2 && !strings.Contains(args[0], "."):
				if uri, err := url.Parse(args[1]); err != nil || uri.Scheme == "" {
					return usagef("arguments follow a tool: SERVER.TOOL JSON")
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := c.explain(args, cmd.InOrStdin())
			var status exitStatus
			if err != nil && !errors.As(err, &status) {
				fmt.Fprintln(cmd.ErrOrStderr(), spoken(err.Error()))
			}
			if err != nil {
				return exitStatus(2) // 1 is a denial
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				err = enc.Encode(e)
			} else {
				e.print(cmd.OutOrStdout())
			}
			switch {
			case err != nil || e.Allowed == nil:
				return err
			case !*e.Allowed:
				return exitStatus(1)
			case e.Asks:
				return exitStatus(3)
			}
			return nil
		},
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

// explain explains a profile of the policies, or a part of it.
func (c *choice) explain(args []string, stdin io.Reader) (*explanation, error) {
	p, err := c.load()
	if err == nil {
		p, err = c.discover(p)
	}
	var list policy.Errors
	if errors.As(err, &list) {
		return nil, report(list)
	}
	if err != nil {
		return nil, err
	}
	return explained(p, args, stdin)
}

// An explanation is of a profile, of a server, of a tool, or of a call.
type explanation struct {
	Profile   string            `json:"profile"`
	Pos       string            `json:"pos"`
	Settings  []policy.Setting  `json:"settings,omitempty"`
	Server    string            `json:"server,omitempty"`
	Servers   map[string][]rule `json:"servers,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Resource  string            `json:"resource,omitempty"`
	Resources map[string][]rule `json:"resources,omitempty"` // rules, by server
	Rules     []rule            `json:"rules,omitempty"`
	Together  string            `json:"together,omitempty"` // what the rules of a tool come to
	Allowed   *bool             `json:"allowed,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"` // as they would be sent
	Decision  string            `json:"decision,omitempty"`
	Rule      *at               `json:"rule,omitempty"` // that decides
	Then      []string          `json:"then,omitempty"` // what else has to hold for a call that is allowed
	Asks      bool              `json:"asks,omitempty"` // whether a person is asked

	names []string // of the servers
	none  string   // the budget that allows no call at all
}

// at is a place, as bridge vet --json has it.
type at struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// further is what else has to hold for a call that a rule allows.
func (e *explanation) further(p *policy.Profile, r policy.Rule) {
	e.Rule, e.Asks = &at{r.Pos.File, r.Pos.Line, r.Pos.Col}, r.Confirm
	say := func(format string, args ...any) { e.Then = append(e.Then, fmt.Sprintf(format, args...)) }
	if r.Confirm {
		say("a person is asked first")
	}
	for _, b := range []struct {
		policy.Budget
		of string
	}{{r.Budget, ""}, {p.MountBudget(e.Server), " of server " + e.Server}, {p.Budget, " of the profile"}} {
		for _, limit := range []struct {
			n    int
			what string
		}{{b.PerRun, "calls" + b.of + " in a run"}, {b.PerSession, "calls" + b.of + " in a session"}} {
			if limit.n < 0 {
				continue
			}
			say("at most %d %s", limit.n, limit.what)
			if limit.n == 0 && e.none == "" {
				e.none = fmt.Sprintf("a budget allows 0 %s (%s)", limit.what, b.Pos)
			}
		}
		for _, limit := range []struct {
			n    int64
			what string
		}{{b.BytesPerRun, "bytes of answers" + b.of + " in a run"}, {b.BytesPerSession, "bytes of answers" + b.of + " in a session"}} {
			if limit.n >= 0 {
				say("at most %d %s", limit.n, limit.what)
			}
		}
	}
	for _, s := range r.Sums {
		if !math.IsInf(s.PerRun, 1) {
			say("%s sums up to at most %v in a run", s.Argument, s.PerRun)
		}
		if !math.IsInf(s.PerSession, 1) {
			say("%s sums up to at most %v in a session", s.Argument, s.PerSession)
		}
	}
	for _, want := range []struct {
		name string
		is   *bool
	}{{"readOnly", r.ReadOnly}, {"destructive", r.Destructive}, {"idempotent", r.Idempotent}, {"openWorld", r.OpenWorld}} {
		if want.is != nil {
			say("the server must say %s: %t of the tool", want.name, *want.is)
		}
	}
	if r.SHA256 != "" {
		say("the tool's definition must have the sha256 %s", r.SHA256)
	}
	if r.Result.Max > 0 {
		say("an answer of more than %d bytes is an error", r.Result.Max)
	}
	if len(r.Result.Redact) > 0 {
		say("answers are redacted")
	}
}

// A rule is one of a policy.
type rule struct {
	policy.RuleText
	At string `json:"pos"`
}

func explained(p *policy.Profile, args []string, stdin io.Reader) (*explanation, error) {
	e := &explanation{Profile: p.Name, Pos: p.Pos().String()}
	if len(args) == 0 {
		e.Settings = p.Settings()
		e.Servers, e.Resources = map[string][]rule{}, map[string][]rule{}
		for _, s := range p.Servers {
			list, err := p.Rules(s.Name)
			if err != nil {
				return nil, err
			}
			e.names = append(e.names, s.Name)
			e.Servers[s.Name] = placed(list)
			if list, _ = p.ResourceRules(s.Name); len(list) > 0 {
				e.Resources[s.Name] = placed(list)
			}
		}
		return e, nil
	}
	var ofTool bool
	e.Server, e.Tool, ofTool = strings.Cut(args[0], ".")
	switch {
	case !ofTool && len(args) == 2:
		e.Resource = args[1]
		rule, err := p.CheckRead(e.Server, e.Resource)
		if err == nil {
			e.Decision = fmt.Sprintf("resource %s of %s: allowed by profile %q (%s)", e.Resource, e.Server, p.Name, rule.Pos)
			e.further(p, rule)
		}
		return e, e.decide(err, nil)
	case !ofTool:
		list, err := p.Rules(e.Server)
		e.Rules = placed(list)
		if list, _ = p.ResourceRules(e.Server); len(list) > 0 {
			e.Resources = map[string][]rule{e.Server: placed(list)}
		}
		return e, err
	}
	if len(args) < 2 {
		list, together, err := p.RulesFor(e.Server, e.Tool)
		e.Rules, e.Together = placed(list), together.Text
		return e, e.decide(err, nil)
	}
	sent := []byte(args[1])
	if args[1] == "-" {
		var err error
		if sent, err = io.ReadAll(stdin); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
	}
	if len(sent) == 0 {
		return nil, usagef("the arguments are empty: a JSON object, such as {}")
	}
	d, err := p.CheckCall(e.Server, e.Tool, sent)
	if err == nil {
		e.Decision = fmt.Sprintf("%s.%s: allowed by profile %q (%s)", e.Server, e.Tool, p.Name, d.Pos)
		e.further(p, d.Rule)
	}
	return e, e.decide(err, d.Args)
}

// decide notes a decision. Its error is that there is none to make.
func (e *explanation) decide(err error, args json.RawMessage) error {
	var denial *policy.Denial
	allowed := err == nil
	switch {
	case errors.As(err, &denial):
		e.Decision = err.Error()
		e.Rule = &at{denial.Pos.File, denial.Pos.Line, denial.Pos.Col}
	case allowed && e.none != "":
		allowed = false
		e.Decision = strings.Replace(e.Decision, "allowed", "denied", 1) + ": " + e.none
	case err != nil:
		return err
	}
	e.Allowed, e.Arguments = &allowed, args
	return nil
}

func placed(list []policy.RuleText) []rule {
	var rules []rule
	for _, r := range list {
		rules = append(rules, rule{r, r.Pos.String()})
	}
	return rules
}

func (e *explanation) print(w io.Writer) {
	if e.Decision != "" {
		fmt.Fprintln(w, e.Decision)
		if *e.Allowed {
			for _, then := range e.Then {
				fmt.Fprintf(w, "  %s\n", then)
			}
		}
		return
	}
	if e.Server == "" {
		fmt.Fprintf(w, "profile %q (%s)\n\n", e.Profile, e.Pos)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, s := range e.Settings {
			fmt.Fprintf(table, "%s\t%s\t%s\n", s.Field, s.Value, s.Source)
		}
		table.Flush()
		for _, name := range e.names {
			fmt.Fprintf(w, "\nserver %s\n", name)
			printRules(w, e.Servers[name], false)
			if list := e.Resources[name]; len(list) > 0 {
				fmt.Fprintf(w, "resources of %s\n", name)
				printRules(w, list, false)
			}
		}
		return
	}
	printRules(w, e.Rules, true)
	if list := e.Resources[e.Server]; len(list) > 0 {
		fmt.Fprintln(w, "resources")
		printRules(w, list, true)
	}
	if len(e.Rules) > 1 && e.Tool != "" {
		fmt.Fprintf(w, "together %s\n", e.Together)
	}
}

// printRules prints rules, with what they say, or else their names.
func printRules(w io.Writer, rules []rule, whole bool) {
	if len(rules) == 0 {
		fmt.Fprintln(w, "no tool is allowed")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	for _, r := range rules {
		if whole {
			fmt.Fprintf(w, "%s: %s %s\n", r.At, r.Name, r.Text)
		} else {
			fmt.Fprintf(table, "%s\t%s\n", r.Name, r.At)
		}
	}
}
