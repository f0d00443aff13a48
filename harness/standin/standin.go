// Package standin is an MCP server that a scenario puts in the place of
// another. A file says what its tools are and what they answer: functions in
// Python, or data in CUE or JSON. Each call adds a line to a log, the tool's
// name and the arguments as they came: what is not in it was never asked.
//
// It knows nothing of the bridge, and of policies only the language.
package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Extensions are those of the files that Main understands, in the order in
// which a scenario's folder is searched for them.
var Extensions = []string{".py", ".cue", ".json"}

// Find gives the file in a folder that stands in for a server, "" if none.
func Find(dir, server string) string {
	if !filepath.IsLocal(server) || server != filepath.Base(server) {
		return ""
	}
	for _, ext := range Extensions {
		file := filepath.Join(dir, server+ext)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// Servers are the names of the servers that something in a folder stands in for.
func Servers(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		if Find(dir, name) != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// A source is what answers for the tools of a stand-in.
type source interface {
	// tools are the definitions, as tools/list gives them.
	tools() []definition
	// call gives what a tool answers: any JSON value. An error is one of the
	// tool.
	call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
	// resources are what can be read, in the order in which they are listed.
	resources() []resource
	close()
}

// A definition is one entry of tools/list.
type definition struct {
	name string
	text json.RawMessage
}

// A resource is what a stand-in has at a URI: a text, or bytes in base64.
type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// open reads the file.
func open(file string) (source, error) {
	switch filepath.Ext(file) {
	case ".py":
		return startPython(file)
	case ".cue", ".json":
		return readData(file)
	}
	return nil, fmt.Errorf("%s: a stand-in is a .py, .cue or .json file", file)
}

// Main serves the stand-in that a file describes on stdin and stdout until the
// input ends, and returns the exit status. The log is made with the first call.
func Main(file, log string) int {
	src, err := open(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer src.close()
	s := &server{source: src, log: log, out: json.NewEncoder(os.Stdout)}
	s.out.SetEscapeHTML(false)
	if err := s.serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// server is the stand-in's end of the connection.
type server struct {
	source source

	mu  sync.Mutex // guards what follows
	log string
	out *json.Encoder
}

// record adds a call to the log.
func (s *server) record(tool string, args json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s\n", tool, legible(args))
	return err
}

var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// legible is JSON with no escapes but those that must be: how it came depends on
// who wrote it, and people write what it is compared with.
func legible(text []byte) []byte {
	return jsonString.ReplaceAllFunc(text, func(quoted []byte) []byte {
		var s string
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if json.Unmarshal(quoted, &s) != nil || enc.Encode(s) != nil {
			return quoted
		}
		return bytes.TrimSpace(b.Bytes())
	})
}
