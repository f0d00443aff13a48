package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bridge/bridge"
)

// newAuditLog is `bridge log`: it shows the audit log to people.
func newAuditLog() *cobra.Command {
	var l auditLog
	cmd := &cobra.Command{
		Use:   "log [LOG...]",
		Short: "show the audit log: what agents ran and called, and what was denied",
		Long: `log shows the records of the audit log, a line each, the newest last. Without a
LOG, which is a file or a folder of .jsonl files, it is the log in the folder of
the bridge's state.`,
		Example: `  bridge log -f
  bridge log --decision deny --server github
  bridge log --tool 'files.write_*' --json`,
		RunE: func(cmd *cobra.Command, logs []string) error {
			if l.decision != "" && !slices.Contains([]string{"allow", "deny", "none"}, l.decision) {
				return usagef("--decision: %q is not a decision; decisions: allow, deny, none", l.decision)
			}
			if _, err := path.Match(l.tool, ""); err != nil {
				return usagef("--tool: %q is not a pattern", l.tool)
			}
			l.out, l.errors = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if file, is := l.out.(screen); is {
				l.out = file.file // what is shown is made visible before it is coloured
				l.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.file.Fd()))
			}
			return l.run(logs)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&l.follow, "follow", "f", false, "go on with what is written from now on, until interrupted")
	f.IntVarP(&l.last, "lines", "n", -1, "only the last `N` lines (default all)")
	f.StringVar(&l.server, "server", "", "only calls of the server `NAME`")
	f.StringVar(&l.tool, "tool", "", "only calls of tools that match, as `SERVER.TOOL`; * stands for any text")
	f.StringVar(&l.decision, "decision", "", "only calls that were decided so: `allow|deny|none`")
	f.StringVar(&l.profile, "profile", "", "only what was under the profile `NAME`")
	f.StringVar(&l.session, "session", "", "only of the session `NAME`, or of those that begin so")
	f.IntVar(&l.number, "run", 0, "only of runs with the number `N`")
	f.BoolVar(&l.asJSON, "json", false, "print the records as they are in the log")
	return cmd
}

// auditLog is what is shown of which logs.
type auditLog struct {
	follow, asJSON, colours                  bool
	last, number                             int
	server, tool, decision, profile, session string

	out, errors io.Writer
	bad         bool     // there was a line that is not a record
	kept        [][]byte // the last lines, while only these are wanted
	tails       []*tail
}

// record is what is shown of a line of the log.
type record struct {
	logged
	Instant       time.Time `json:"time"`
	Seconds       float64   `json:"seconds"`
	Status        string    `json:"status"`
	Error         string    `json:"error"`
	Calls         int       `json:"calls"`
	Outcome       string    `json:"outcome"`
	ArgumentBytes int64     `json:"argumentBytes"`
	ResultBytes   int64     `json:"resultBytes"`
}

// tail is a file that is read as it grows, also after it was given another name.
type tail struct {
	file   *os.File
	info   fs.FileInfo
	path   string
	line   int
	lines  *bufio.Reader
	broken []byte // the beginning of a line whose end is not there yet
}

func (l *auditLog) run(logs []string) error {
	if len(logs) == 0 {
		folder, err := stateFolder("")
		if err != nil {
			return err
		}
		folder = filepath.Join(folder, "audit")
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && !l.follow {
			return fmt.Errorf("there is no audit log in %s yet", folder)
		}
		logs = []string{folder}
	} else if err := l.there(logs); err != nil {
		return err
	}
	defer func() {
		for _, t := range l.tails {
			t.file.Close()
		}
	}()
	if err := l.read(logs); err != nil {
		return err
	}
	for _, line := range l.kept[max(0, len(l.kept)-max(0, l.last)):] {
		l.out.Write(line)
	}
	l.last = -1
	if l.follow {
		ctx, stop := signals()
		defer stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
				if err := l.read(logs); err != nil {
					return err
				}
			}
		}
	}
	if l.bad {
		return exitStatus(1)
	}
	return nil
}

// there is an error if a log is not.
func (l *auditLog) there(logs []string) error {
	for _, path := range logs {
		if _, err := os.Stat(path); err != nil {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// read shows what is new in the logs.
func (l *auditLog) read(logs []string) error {
	var files []string
	for _, path := range logs {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			files = append(files, path)
			continue
		}
		some, _ := filepath.Glob(filepath.Join(path, "*.jsonl")) // in the order of the days
		files = append(files, some...)
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			continue // it was moved in this moment
		}
		if i := slices.IndexFunc(l.tails, func(t *tail) bool { return os.SameFile(t.info, info) }); i >= 0 {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if info, err = f.Stat(); err != nil {
			f.Close()
			return err
		}
		l.tails = append(l.tails, &tail{file: f, info: info, path: path, lines: bufio.NewReaderSize(f, 64<<10)})
	}
	for _, t := range l.tails {
		if err := l.more(t); err != nil {
			return err
		}
	}
	return nil
}

// more shows what is new in a file.
func (l *auditLog) more(t *tail) error {
	for {
		part, err := t.lines.ReadBytes('\n')
		t.broken = append(t.broken, part...)
		if errors.Is(err, io.EOF) && l.follow {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s:%d: %w", t.path, t.line, err)
		}
		line := t.broken
		t.broken = nil
		t.line++
		if len(bytes.TrimSpace(line)) > 0 {
			l.show(t, line)
		}
		if err != nil {
			return nil
		}
	}
}

// show writes a record, if it is among those that are wanted.
func (l *auditLog) show(t *tail, line []byte) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil || r.Kind == "" {
		l.bad = true
		fmt.Fprintf(l.errors, "%s:%d: not a record of an audit log\n", t.path, t.line)
		return
	}
	if !l.wants(r) {
		return
	}
	text := append(bytes.TrimSpace(line), '\n')
	if !l.asJSON {
		text = []byte(l.line(r) + "\n")
	}
	if l.last >= 0 {
		l.kept = append(l.kept, text)
		if len(l.kept) > 2*l.last+1000 {
			l.kept = slices.Clone(l.kept[len(l.kept)-l.last:])
		}
		return
	}
	l.out.Write(text)
}

func (l *auditLog) wants(r record) bool {
	call := r.Kind == "call" || r.Kind == "repeated"
	if !call && r.Kind != "run" {
		return false // what was about to be made is shown when it was
	}
	if l.tool != "" {
		if matches, _ := path.Match(l.tool, r.what()); !call || !matches {
			return false
		}
	}
	return (l.server == "" || call && r.Server == l.server) &&
		(l.decision == "" || call && r.Decision == l.decision) &&
		(l.profile == "" || r.Profile == l.profile) &&
		strings.HasPrefix(r.Session, l.session) &&
		(l.number == 0 || r.Run == l.number)
}

// what was called.
func (r record) what() string {
	if r.Resource != "" {
		return r.Server + " " + r.Resource
	}
	return r.Server + "." + r.Tool
}

// line is a record for people.
func (l *auditLog) line(r record) string {
	at := r.Instant.Local().Format(time.DateTime)
	if r.Kind == "run" {
		return fmt.Sprintf("%s  run %d of %s under %s  %s after %v, %s", at, r.Run, l.plain(r.Session), l.plain(r.Profile), l.outcome(r.Status, r.Error), took(r.Seconds), counted(r.Calls, "call"))
	}
	colour := map[string]string{"allow": "\x1b[32m", "deny": "\x1b[31m"}[r.Decision]
	decision := l.plain(r.Decision)
	if l.colours && colour != "" {
		decision = colour + decision + "\x1b[0m"
	}
	said := ""
	switch {
	case r.Kind == "repeated":
		said = fmt.Sprintf("%d times more in run %d", r.Count, r.Run)
	case r.Decision == "allow":
		said = l.outcome(r.Outcome, r.Error) + fmt.Sprintf(" in %v, %s sent", took(r.Seconds), size(r.ArgumentBytes))
		if r.ResultBytes > 0 {
			said += ", " + size(r.ResultBytes) + " received"
		}
		if r.Rule != "" {
			said += ", by " + l.plain(r.Rule)
		}
	case r.Decision == "deny":
		said = map[string]string{
			"server": "no such server in the profile", "tool": "no such tool in the rules", "resource": "no such resource in the rules",
			"arguments": "the rule on its arguments", "later": "a budget, a person, or what the server says of the tool",
		}[r.Denied]
		if r.Rule != "" {
			said += ", at " + l.plain(r.Rule)
		}
	default:
		said = "there is no such tool"
	}
	return fmt.Sprintf("%s  %s  %s  %s", at, decision, l.plain(r.what()), said)
}

func (l *auditLog) outcome(how, failed string) string {
	if failed != "" {
		return l.plain(how) + " (" + l.plain(failed) + ")"
	}
	return l.plain(how)
}

// plain is a text of the log, which agents and servers have had a part in.
func (l *auditLog) plain(text string) string { return bridge.Visible(text) }

func took(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// size is a number of bytes, rounded.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, "KiB"
	if value >= 1024 {
		value, unit = value/1024, "MiB"
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
