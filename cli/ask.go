package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
func askOn(in io.Reader, out io.Writer) bridge.Ask {
	lines := make(chan string)
	ended := make(chan struct{})
	begun := false
	read := func() { // it may wait for a key for ever, and ends with the process
		defer close(ended)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}
	return func(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
		if !begun {
			begun = true
			go read()
		}
		text := strings.ReplaceAll(q.Text(), "\n", "\nbridge: ")
		fmt.Fprintf(out, "bridge: %s\nbridge: y: yes; a: yes, and to all its calls in this run; n: no [n] ", text)
		select {
		case line := <-lines:
			return answerOf(line), nil
		case <-ended:
			return bridge.Deny, errors.New("the terminal has ended before an answer")
		case <-ctx.Done():
			fmt.Fprintln(out)
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
	return bridge.Deny, errors.New("a person must confirm it, and stdin is no terminal to ask one at")
}
