package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
)

// source returns the code to run: given, in a file, or on stdin.
func source(cmd *cobra.Command, code string, args []string) (string, error) {
	switch given := cmd.Flags().Changed("code"); {
	case given && len(args) > 0, len(args) > 1:
		return "", usagef("run takes one of -c CODE, FILE and -")
	case given:
		return code, nil
	case len(args) == 0:
		return "", usagef("no code: run takes -c CODE, FILE or -")
	case args[0] == "-":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return "", err
		}
		return decoded("<stdin>", text)
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return "", err
	}
	return decoded(args[0], text)
}

// The comment that declares an encoding, and what may stand in the line before
// it (PEP 263).
var (
	cookie = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)
	blank  = regexp.MustCompile(`^[ \t\f]*(?:#|$)`)
)

// decoded is a script as text, with the encoding that Python would take it to
// have: the one that its first or second line declares, else UTF-8.
func decoded(file string, script []byte) (string, error) {
	text, marked := bytes.CutPrefix(script, []byte("\ufeff"))
	line, name := declared(text)
	as, err := lookup(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s:%d: %w", file, line, err)
	case marked && as != nil:
		return "", fmt.Errorf("%s:%d: encoding %q is declared, but the file begins with the mark of UTF-8", file, line, name)
	case as != nil:
		code, err := as.NewDecoder().Bytes(text)
		if wrong := bytes.IndexRune(code, utf8.RuneError); err != nil || wrong >= 0 {
			return "", fmt.Errorf("%s:%d: not %s, the encoding that is declared", file, lineOf(code, max(wrong, 0)), name)
		}
		return string(code), nil
	}
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			what := `no encoding is declared; a first line such as "# coding: latin-1" declares one`
			if name != "" {
				what = "the encoding that is declared is " + name
			}
			return "", fmt.Errorf("%s:%d: not UTF-8: byte 0x%02x, and %s", file, lineOf(text, at), text[at], what)
		}
		at += n
	}
	return string(text), nil
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// declared is the encoding that a script declares, "" if none, and in which line.
func declared(text []byte) (line int, name string) {
	for line = 1; line <= 2; line++ {
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		first = bytes.TrimRight(first, "\r")
		if found := cookie.FindSubmatch(first); found != nil {
			return line, string(found[1])
		}
		if !blank.Match(first) {
			break
		}
		text = rest
	}
	return 1, ""
}

// spellings are Python's names of encodings, with "-" for "_", where IANA has
// others.
var spellings = []struct {
	python *regexp.Regexp
	iana   string
}{
	{regexp.MustCompile(`^(?:latin|iso-latin|l)-?(\d+)$`), "latin$1"},
	{regexp.MustCompile(`^(?:cp|windows-?)(125\d|874)$`), "windows-$1"},
	{regexp.MustCompile(`^iso-?8859-?(\d+)$`), "iso-8859-$1"},
	{regexp.MustCompile(`^mac-?roman$`), "macintosh"},
	{regexp.MustCompile(`^(?:shift-?jis|sjis)$`), "Shift_JIS"},
	{regexp.MustCompile(`^euc-?(jp|kr)$`), "euc-$1"},
	{regexp.MustCompile(`^(?:us-?)?ascii$`), "us-ascii"},
}

// lookup finds an encoding by its name, nil for UTF-8.
func lookup(name string) (encoding.Encoding, error) {
	python := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if python == "" || python == "utf8" || python == "utf-8" || strings.HasPrefix(python, "utf-8-") {
		return nil, nil
	}
	if strings.HasPrefix(python, "latin-1-") || strings.HasPrefix(python, "iso-8859-1-") {
		return charmap.ISO8859_1, nil // as Python has it, for Emacs
	}
	for _, s := range spellings {
		python = s.python.ReplaceAllString(python, s.iana)
	}
	as, err := ianaindex.IANA.Encoding(python)
	if err != nil || as == nil || strings.HasPrefix(strings.ToLower(python), "utf-") {
		return nil, fmt.Errorf("unknown encoding %q", name)
	}
	return as, nil
}
