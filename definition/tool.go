// Package definition says what an MCP server is: how it is defined in a policy or
// in a client's configuration, and how it defines its tools.
//
// It knows no policy, starts nothing and speaks with nobody.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// A Server is an MCP server as a policy or a client's configuration defines it: a
// command, or the URL of one that speaks HTTP.
type Server struct {
	Name         string
	Description  string
	Command      string
	Args         []string
	Env          map[string]string // beyond the few variables that every server gets
	EnvFile      string            // of NAME=value lines; Env overrides them
	Cwd          string            // "" is the bridge's own
	Absent       string            // if not "", it is never started, and why
	URL          string
	Headers      map[string]string // of each request to the URL
	Transport    string            // "http" or "sse"; "" is http, and sse if the server has no http
	StartTimeout time.Duration     // 0 is upstream.DefaultStartTimeout
	CallTimeout  time.Duration     // 0 is upstream.DefaultCallTimeout
}

// Tool is one entry of a server's tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`  // as sent; an empty object schema if none was
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // as sent, nil if none
	Annotations  json.RawMessage `json:"annotations,omitempty"`  // as sent, nil if none
	TaskOnly     bool            `json:"taskOnly,omitempty"`     // whether it can only be called as a task, which the bridge does not do
}

// SHA256 is the digest by which a policy pins a tool's definition, in lower-case
// hexadecimal. It is of a JSON object with what agents and code see of the tool:
// name, title, description, inputSchema, outputSchema and annotations, as far as
// the server gives them. The JSON has its fields sorted by name at every depth,
// and no spaces; numbers are as the server writes them; of two fields of one name
// the last counts. Icons and other fields, such as _meta, are not in it.
func (t Tool) SHA256() string {
	fields := map[string]any{"name": t.Name}
	if t.Title != "" {
		fields["title"] = t.Title
	}
	if t.Description != "" {
		fields["description"] = t.Description
	}
	for name, raw := range map[string]json.RawMessage{
		"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema, "annotations": t.Annotations,
	} {
		if raw != nil {
			fields[name] = decoded(raw)
		}
	}
	var canonical bytes.Buffer
	e := json.NewEncoder(&canonical) // sorts the fields of maps
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		return "" // which no rule has
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:])
}

// decoded is JSON with its numbers as they are written.
func decoded(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

// Hints are a tool's annotations, each nil if the server does not give it.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Hints reads the annotations. One that is not a boolean counts as not given.
func (t Tool) Hints() Hints {
	var raw map[string]json.RawMessage
	json.Unmarshal(t.Annotations, &raw)
	hint := func(name string) *bool {
		var b *bool
		if json.Unmarshal(raw[name], &b) != nil {
			return nil
		}
		return b
	}
	return Hints{hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")}
}
