package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"bridge/bridge"
)

// screen is a terminal. What is written to it is shown, whoever has written it:
// nothing steers the terminal.
type screen struct{ file *os.File }

// onScreen is a file to write to: a pipe gets the bytes as they are.
func onScreen(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return screen{f}
	}
	return f
}

func (s screen) Write(text []byte) (int, error) {
	if _, err := s.file.WriteString(bridge.VisibleLines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// terminal shows a run to a person, or to a pipe.
type terminal struct {
	out, err io.Writer
	last     string // the last text on stdout
	lost     error  // why what the code printed could not be written
	colours  bool   // whether err is a terminal that shows them

	mu     sync.Mutex // guards what follows
	asking bool       // a question is open: what comes is kept
	kept   []output
	size   int  // bytes of what is kept
	within bool // the last text has not ended its line
}

// output is a piece of what the code prints.
type output struct {
	stream, text string
	skipped      int64
}

// maxKept bounds what is kept while a question is open, in bytes.
const maxKept = 1 << 20

func newTerminal() *terminal {
	colours := term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &terminal{out: onScreen(os.Stdout), err: onScreen(os.Stderr), colours: colours}
}

// write is given what the code prints as it comes.
func (t *terminal) write(stream, text string, skipped int64) {
	if stream == bridge.CallStream {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := len(t.kept); {
	case !t.asking:
		t.show(output{stream, text, skipped})
	case t.size+len(text) <= maxKept:
		t.size += len(text)
		t.kept = append(t.kept, output{stream, text, skipped})
	case t.size <= maxKept:
		t.size = maxKept + 1 // nor is anything shorter that comes now
		t.kept = append(t.kept, output{skipped: skipped + int64(len(text))})
	default:
		t.kept[n-1].skipped += skipped + int64(len(text))
	}
}

// holding has what the code prints wait while a question is open: it can stand
// neither in the question nor over it.
func (t *terminal) holding(ask bridge.Ask) bridge.Ask {
	return func(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
		t.mu.Lock()
		t.asking = true
		if s, ok := t.err.(screen); ok && t.within {
			t.put(s, "\n")
		}
		t.mu.Unlock()
		defer t.release()
		return ask(ctx, q)
	}
}

// release shows what was kept: the question has its answer, or the run is over.
func (t *terminal) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.kept {
		t.show(o)
	}
	t.asking, t.kept, t.size = false, nil, 0
}

func (t *terminal) show(o output) {
	w, text := t.out, o.text
	if o.stream == "stderr" {
		w = t.err
	} else if text != "" {
		t.last = text
	}
	if o.skipped > 0 {
		text = fmt.Sprintf("\n[%d bytes left out]\n", o.skipped) + text
	}
	if text != "" {
		t.within = !strings.HasSuffix(text, "\n")
	}
	t.put(w, text)
}

// put writes, and keeps the first mistake. A reader who has seen enough, as
// head has, is none.
func (t *terminal) put(w io.Writer, text string) {
	_, err := io.WriteString(w, text)
	if err != nil && t.lost == nil && !errors.Is(err, syscall.EPIPE) {
		t.lost = fmt.Errorf("writing what the code has printed: %w", err)
	}
}

// finish prints what is left to say and returns the exit status.
func (t *terminal) finish(r *bridge.Report) error {
	t.release()
	if t.last != "" && !strings.HasSuffix(t.last, "\n") {
		t.put(t.out, "\n")
	}
	if r.Result.Value != nil {
		t.put(t.out, *r.Result.Value+"\n")
	}
	t.pictures(r)
	for _, note := range r.Notes {
		fmt.Fprintln(t.err, spoken(note))
	}
	switch {
	case r.Message != "":
		fmt.Fprintln(t.err, spoken(r.Message))
	case r.Result.Error != nil:
		text := strings.TrimSuffix(r.Result.Error.Traceback, "\n")
		if t.colours {
			fmt.Fprintf(os.Stderr, "\x1b[31m%s\x1b[0m\n", bridge.VisibleLines(text))
		} else {
			fmt.Fprintln(t.err, text)
		}
	}
	switch {
	case r.Status == bridge.Success:
		return t.lost
	case r.Status == bridge.Timeout:
		return exitStatus(124)
	case r.Status == bridge.Cancelled:
		return exitStatus(130)
	case r.ExitCode != nil && *r.ExitCode > 0 && *r.ExitCode < 256:
		return exitStatus(*r.ExitCode)
	}
	return exitStatus(1)
}

// pictures writes what the code has shown to files that were not there, and
// names them.
func (t *terminal) pictures(r *bridge.Report) {
	n := 0
	for _, image := range r.Result.Images {
		name, err := newPicture(&n, bridge.Extension(image.MIME), image.Data)
		if err != nil {
			fmt.Fprintf(t.err, "bridge: writing a picture: %v\n", err)
			return
		}
		fmt.Fprintf(t.err, "bridge: a picture was written to %s\n", name)
	}
}

// newPicture writes a file with the next free number after n.
func newPicture(n *int, extension string, data []byte) (string, error) {
	for {
		*n++
		name := fmt.Sprintf("picture-%d.%s", *n, extension)
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		return name, errors.Join(err, file.Close())
	}
}
