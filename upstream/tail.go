package upstream

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	tailLines = 20  // lines kept of what a server says
	tailWidth = 400 // bytes kept of each
)

// tail keeps the last lines of what a server writes for people.
type tail struct {
	redact *strings.Replacer
	eof    chan struct{} // closed when follow is done

	mu    sync.Mutex
	lines []string
}

// follow reads to the end, so that the server never blocks on a full pipe.
func (t *tail) follow(r io.Reader) {
	defer close(t.eof)
	in := bufio.NewReaderSize(r, 4096)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), tailWidth-min(len(line), tailWidth))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		t.add(line)
		line = line[:0]
		if err != nil {
			return
		}
	}
}

// escape is a terminal's colour or cursor sequence.
var escape = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|[@-Z\\\\-_])")

// add keeps one line, as text that can be shown anywhere.
func (t *tail) add(line []byte) {
	text := escape.ReplaceAllString(strings.ToValidUTF8(string(line), "?"), "")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text))
	if text == "" {
		return
	}
	text = t.redact.Replace(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		copy(t.lines, t.lines[1:])
		t.lines = t.lines[:tailLines-1]
	}
	t.lines = append(t.lines, text)
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
