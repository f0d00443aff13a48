package upstream

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind says whose an Error is.
type Kind string

const (
	// KindTool is an answer: the server is well and has refused the call with
	// a JSON-RPC error, for instance for invalid arguments.
	KindTool Kind = "tool"
	// KindServer is not an answer: the server could not be started, has ended, is
	// too slow or does not keep to the protocol.
	KindServer Kind = "server"
	// KindCancelled is the caller's own doing: its context has ended.
	KindCancelled Kind = "cancelled"
)

// Error is why a server gave no result. Its text is ours but for a refusal's
// message and the last words, which are the server's; in those of a server that
// could not be kept, what references of its definition stand for is shown as the
// reference again, if it has six bytes or more.
type Error struct {
	Kind    Kind
	Server  string
	Tool    string   // "" if it is not about one call
	Message string   // the whole sentence, but for the last words
	Stderr  []string // the last lines that the server wrote to its stderr, for a KindServer

	// Sent tells that the request was handed to the server, so that it may
	// have been carried out and a retry may do it twice.
	Sent bool

	// Code and Data are of the server's JSON-RPC error, if that is what it is.
	Code int
	Data json.RawMessage

	cause error
}

// lastWords is the most lines of stderr that the text of an error shows.
const lastWords = 3

func (e *Error) Error() string {
	words := telling(e.Stderr)
	if len(words) == 0 {
		return e.Message
	}
	return e.Message + "; the end of its stderr: " + strings.Join(words, " | ")
}

var (
	// exception is a line that names what has ended a program: Python's
	// "ValueError: …", also within a group, Node's "TypeError [CODE]: …", Go's
	// "panic: …".
	exception = regexp.MustCompile(`^[-+| ]*(panic: |fatal error: |Uncaught |[\w.]*(Error|Exception|ExceptionGroup|Interrupt)( \[\w+\])?(:|$))`)
	// trace is a line that says where: a mark below code, or a frame.
	trace = regexp.MustCompile(`^[-+| ]*([\^~ ]*|at .*|File ".*", line .*|[\]})]+[,;]?|Node\.js v.*)$`)
)

// telling are the lines that say why a program ended: its last exception and what
// follows that, else the end of its stderr.
func telling(lines []string) []string {
	lines = slices.DeleteFunc(slices.Clone(lines), trace.MatchString)
	for i := len(lines) - 1; i >= 0; i-- {
		if exception.MatchString(lines[i]) {
			lines[i] = strings.TrimLeft(lines[i], "-+| ")
			return lines[i:min(i+lastWords, len(lines))]
		}
	}
	return lines[max(0, len(lines)-lastWords):]
}

// Unwrap is the cause: the context's error for a KindCancelled.
func (e *Error) Unwrap() error { return e.cause }

// rpcError is a JSON-RPC error as the server sent it.
type rpcError struct {
	code    int
	message string
	data    json.RawMessage
}

func (e *rpcError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("JSON-RPC error %d", e.code)
	}
	return e.message
}
