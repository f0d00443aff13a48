package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/peterh/liner"
	"golang.org/x/term"

	"bridge/bridge"
)

// interact runs what a person types, in one session, until the input ends.
func interact(c *choice, r bridge.Request) error {
	b, end, err := c.bridge(slog.LevelWarn)
	if err != nil {
		return err
	}
	defer end()
	b.Warm()
	p := newPrompt(b)
	defer p.close()
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintf(os.Stderr, "bridge: profile %q; Ctrl-C interrupts a run, Ctrl-D ends the session\n", c.profile)
	}
	for {
		code, err := p.read()
		switch {
		case errors.Is(err, io.EOF):
			return p.leave(r, nil)
		case err != nil:
			return err
		case strings.TrimSpace(code) == "":
			continue
		}
		r.Code = code
		if left, err := p.run(r); left || err != nil {
			return p.leave(r, err)
		}
	}
}

// A prompt reads code from a person, and runs it.
type prompt struct {
	bridge  *bridge.Bridge
	line    *liner.State
	cooked  liner.ModeApplier // how the terminal is while code runs, nil if there is none
	raw     liner.ModeApplier // and while a line is typed
	history string            // the file of what was typed before, "" if none
	used    bool              // whether there is a session to end
}

func newPrompt(b *bridge.Bridge) *prompt {
	p := &prompt{bridge: b}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		p.cooked, _ = liner.TerminalMode()
	}
	p.line = liner.NewLiner()
	p.line.SetCtrlCAborts(true)
	p.line.SetTabCompletionStyle(liner.TabPrints)
	p.line.SetWordCompleter(p.complete)
	if p.cooked != nil {
		p.raw, _ = liner.TerminalMode()
		p.remember()
	}
	return p
}

// remember reads what was typed in earlier sessions.
func (p *prompt) remember() {
	dir, err := stateFolder("")
	if err != nil {
		return
	}
	p.history = filepath.Join(dir, "history")
	if file, err := os.Open(p.history); err == nil {
		p.line.ReadHistory(file)
		file.Close()
	}
}

// close gives the terminal back, and keeps what was typed.
func (p *prompt) close() {
	if p.history != "" && os.MkdirAll(filepath.Dir(p.history), 0o700) == nil {
		if file, err := os.OpenFile(p.history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err == nil {
			p.line.WriteHistory(file)
			file.Close()
		}
	}
	p.line.Close()
}

// read reads lines until they are a whole piece of code.
func (p *prompt) read() (string, error) {
	var lines []string
	for {
		sign := ">>> "
		if len(lines) > 0 {
			sign = "... "
		}
		if p.cooked == nil {
			sign = ""
		}
		line, err := p.line.Prompt(sign)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			return "", nil
		case errors.Is(err, io.EOF) && len(lines) > 0:
			return strings.Join(lines, "\n"), nil
		case err != nil:
			return "", err
		}
		lines = append(lines, line)
		if text := strings.Join(lines, "\n"); !unfinished(text) {
			if strings.TrimSpace(text) != "" {
				p.line.AppendHistory(strings.ReplaceAll(text, "\n", "; "))
			}
			return text, nil
		}
	}
}

// run runs code, shows what comes of it, and tells whether the code has left with
// sys.exit, whose status is the error then. An interrupt stops the run, and leaves
// the session.
func (p *prompt) run(r bridge.Request) (left bool, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if p.cooked != nil {
		p.cooked.ApplyMode()
		defer p.raw.ApplyMode()
	}
	t := newTerminal()
	p.used = true
	report := p.bridge.Run(ctx, r, t.write, t.holding(p.ask))
	err = t.finish(report)
	var status exitStatus
	if left = report.Result.ExitCode != nil; !left && errors.As(err, &status) {
		return false, nil // it has been shown
	}
	return left, err
}

// leave ends the session, shows what its Python says at its end, and returns
// the error that it is left with.
func (p *prompt) leave(r bridge.Request, err error) error {
	if p.used {
		r.Code, r.Last = "", true
		p.run(r)
	}
	return err
}

// ask asks the person who types.
func (p *prompt) ask(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	if p.cooked == nil {
		return askNobody(context.Background(), q)
	}
	p.raw.ApplyMode()
	defer p.cooked.ApplyMode()
	forget(os.Stdin)
	fmt.Fprintf(onScreen(os.Stderr), "bridge: %s\n", strings.ReplaceAll(q.Text(), "\n", "\nbridge: "))
	line, err := p.line.Prompt("bridge: y: yes; a: yes, and to all its calls in this run; n: no [n] ")
	if err != nil {
		return bridge.Deny, nil
	}
	return answerOf(line), nil
}

// completable is the end of a line that has a name to complete.
var completable = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*$`)

// complete has the session say how a name could go on.
func (p *prompt) complete(line string, at int) (head string, list []string, tail string) {
	// The position counts characters.
	runes := []rune(line)
	head, tail = string(runes[:at]), string(runes[at:])
	word := completable.FindString(head)
	if word == "" {
		return head + "    ", nil, tail
	}
	seconds := 2
	var out strings.Builder
	report := p.bridge.Run(context.Background(), bridge.Request{Timeout: &seconds, Code: fmt.Sprintf(
		`print("\n".join((lambda c, t: c.attr_matches(t) if "." in t else c.global_matches(t))(__import__("rlcompleter").Completer(globals()), %s)))`,
		strconv.QuoteToASCII(word))},
		func(_, text string, _ int64) { out.WriteString(text) }, askNobody)
	if report.Status != bridge.Success {
		return head, nil, tail
	}
	return strings.TrimSuffix(head, word), strings.Fields(bridge.VisibleLines(out.String())), tail
}

// unfinished tells whether code goes on in the next line: within brackets or a
// text of several lines, after a backslash, and in a block, which an empty line
// ends.
func unfinished(code string) bool {
	quote, depth, block := "", 0, false
	lines := strings.Split(code, "\n")
	for _, line := range lines {
		bare := "" // of what is in quotes, and of comments
		for i := 0; i < len(line); i++ {
			rest := line[i:]
			switch {
			case quote != "" && line[i] == '\\':
				i++
			case quote != "" && strings.HasPrefix(rest, quote):
				i += len(quote) - 1
				quote = ""
			case quote != "":
			case line[i] == '#':
				i = len(line)
			case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
				quote = rest[:3]
				i += 2
			case line[i] == '"', line[i] == '\'':
				quote = rest[:1]
			default:
				depth += strings.Count("([{", rest[:1]) - strings.Count(")]}", rest[:1])
				bare += rest[:1]
			}
		}
		if len(quote) == 1 {
			quote = "" // a mistake, which Python words
		}
		bare = strings.TrimSpace(bare)
		block = block || depth <= 0 && strings.HasSuffix(bare, ":") || strings.HasPrefix(bare, "@")
	}
	last := lines[len(lines)-1]
	return quote != "" || depth > 0 || strings.HasSuffix(last, `\`) || block && strings.TrimSpace(last) != ""
}
