package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"bridge/bridge"
)

// asker asks whoever sits at the terminal, if stdin is one. The function ends
// it.
func asker() (bridge.Ask, func()) {
	none := func() {}
	switch {
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return askNobody, none
	case term.IsTerminal(int(os.Stderr.Fd())):
		return askOn(os.Stdin, os.Stderr), none
	}
	// What the code prints goes elsewhere, which the question must not.
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return askNobody, none
	}
	return askOn(os.Stdin, tty), func() { tty.Close() }
}

// askOn asks a person at a terminal: what is typed comes from in.
func askOn(in, out *os.File) bridge.Ask {
	type line struct {
		text string
		err  error
	}
	var lines chan line // what is being typed, nil if nobody reads
	from, to := bufio.NewReader(in), onScreen(out)
	read := func() { // it may wait for a key for ever, and ends with the process
		text, err := from.ReadString('\n')
		lines <- line{text, err}
	}
	return func(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
		forget(in)
		if lines == nil || len(lines) > 0 {
			lines = make(chan line, 1)
			go read()
		}
		text := strings.ReplaceAll(q.Text(), "\n", "\nbridge: ")
		fmt.Fprintf(to, "bridge: %s\nbridge: y: yes; a: yes, and to all its calls in this run; n: no [n] ", text)
		select {
		case l := <-lines:
			lines = nil
			if l.err != nil {
				return bridge.Deny, errors.New("the terminal has ended before an answer")
			}
			return answerOf(l.text), nil
		case <-ctx.Done():
			fmt.Fprintln(to)
			return bridge.Deny, ctx.Err()
		}
	}
}

// answerOf is what a person has typed.
func answerOf(line string) bridge.Answer {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return bridge.Once
	case "a", "all":
		return bridge.Always
	}
	return bridge.Deny
}

// askNobody is for a run without a terminal.
func askNobody(context.Context, bridge.Question) (bridge.Answer, error) {
	return bridge.Deny, errors.New("a person must confirm it, but stdin is not a terminal where one could be asked")
}
