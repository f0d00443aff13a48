package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// ToolHash is the sum that a policy pins a tool's definition with: the SHA-256,
// in lower-case hexadecimal, of a JSON object of what agents and code are told
// of the tool: name, title, description, inputSchema, outputSchema and
// annotations, those of them that the server gives. The JSON has its fields
// sorted by name, at every depth, and no spaces; numbers are as the server
// writes them; of two fields of one name the last counts. Icons and other
// fields, _meta among them, are not in it.
func ToolHash(t Tool) string {
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
		return "" // no tool's sum: what cannot be summed is never what was pinned
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
