package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// envelope is any message of a server.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// parse reads a message, in which all text is text.
func parse(text []byte) (*envelope, error) {
	var m envelope
	if err := json.Unmarshal(mended(text), &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// unread says why a message could not be parsed.
func unread(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("its %s has the wrong type: %s", cmp.Or(wrong.Field, "JSON"), wrong.Value)
	}
	return "it is not JSON: " + err.Error()
}

var byteOrderMark = []byte("\ufeff")

// escapes are those of JSON that begin with a backslash: half of a pair of
// surrogates has six bytes, a whole pair twelve, and others two.
var escapes = regexp.MustCompile(`\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2})`)

// mended is JSON without a leading byte order mark, and with U+FFFD for what is
// no text: bytes that are not UTF-8, and halves of pairs of surrogates. Servers
// pass on what they find in files, and whoever reads them must not stumble.
func mended(text []byte) []byte {
	text = bytes.TrimPrefix(text, byteOrderMark)
	if !utf8.Valid(text) {
		text = bytes.Map(func(r rune) rune { return r }, text)
	}
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return text
	}
	return escapes.ReplaceAllFunc(text, func(escape []byte) []byte {
		if len(escape) == len(`\ud800`) {
			return []byte(`\ufffd`)
		}
		return escape
	})
}

// number is the id of an answer. Some servers give the number back as text, or
// as 3.0.
func (m *envelope) number() (int64, bool) {
	n, err := strconv.ParseFloat(string(bytes.Trim(m.ID, `"`)), 64)
	return int64(n), err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
}

// isAnswer tells an answer from other messages, and from a line of a log, which
// is JSON in some servers and may have an id.
func (m *envelope) isAnswer() bool {
	return m.Method == "" && len(m.ID) > 0 && (m.Version != "" || len(m.Result) > 0 || m.Error != nil)
}

// is tells whether a message is the answer to the request with this number.
func (m *envelope) is(id int64) bool {
	n, ok := m.number()
	return m.isAnswer() && ok && n == id
}

// maxFailure bounds the text of an error, and the data that are kept of one, in
// bytes.
const maxFailure = 64 << 10

// answer is what a message says to the request that it answers.
func (m *envelope) answer() (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		failure := &rpcError{code: m.Error.Code, message: m.Error.Message, data: value(m.Error.Data)}
		if len(failure.message) > maxFailure {
			failure.message = strings.ToValidUTF8(failure.message[:maxFailure], "") + "…"
		}
		if len(failure.data) > maxFailure {
			failure.data = fmt.Appendf(nil, `"left out: %d bytes, more than %d"`, len(failure.data), maxFailure)
		}
		return nil, failure
	case len(m.Result) == 0:
		return nil, errors.New("answered with neither a result nor an error")
	}
	return m.Result, nil
}

// heard deals with a message that answers nothing. The bridge declares no
// capability, so that a ping is all that a server may ask for.
func (c *conn) heard(m *envelope, send func(message any)) {
	switch {
	case m.Method == "":
	case len(m.ID) == 0:
		c.notified(m)
	case len(m.ID) > 1<<10:
	case m.Method == string(mcp.MethodPing):
		send(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": m.ID, "result": struct{}{}})
	default:
		send(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": m.ID, "error": map[string]any{
			"code": mcp.METHOD_NOT_FOUND, "message": "bridge does not offer " + m.Method,
		}})
	}
}

// notification is a message to a server that is not answered.
func notification(method string, params map[string]any) map[string]any {
	message := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method}
	if params != nil {
		message["params"] = params
	}
	return message
}

// request is a message to a server that it answers.
func request(id int64, method string, params any) map[string]any {
	return map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": method, "params": params}
}
