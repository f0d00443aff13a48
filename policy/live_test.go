package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"bridge/definition"
)

// Schemas that say little, or refer to each other, are read as far as they go.
func TestLiveArguments(t *testing.T) {
	for _, c := range []struct{ name, args, schema, want string }{
		{"no schema", `a: int`, ``, ``},
		{"no properties", `a: int`, `{"type": "object"}`, `args.a: the tool has no such argument; it has none`},
		{"any others", `a: int`, `{"type": "object", "additionalProperties": true}`, ``},
		{"others by alternatives", `a: int`, `{"type": "object", "anyOf": [{"properties": {"a": {}}}]}`, ``},
		{"required alone", `{a: int, b: int}`, `{"type": "object", "required": ["a"]}`, `args.b: the tool has no such argument; it has none`},
		{"dependent", `b: int`, `{"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}}`, ``},
		{"no type", `a: int`, `{"properties": {"a": {}}}`, ``},
		{"several types", `a: int`, `{"properties": {"a": {"type": ["string", "null"]}}}`, `args.a: it is never met: the argument is of type string or null, and the rule wants int`},
		{"one of several types", `a: null`, `{"properties": {"a": {"type": ["string", "null"]}}}`, ``},
		{"an unknown type", `a: int`, `{"properties": {"a": {"type": "money"}}}`, ``},
		{"nested", `a: {b!: int, c?: int}`, `{"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}`, `
args.a.b: it is never met: the argument is of type string, and the rule wants int
args.a.c: the tool has no such argument; arguments: b`},
		{"by reference", `a: {b!: int}`, `{"$defs": {"x/y": {"type": "object", "properties": {"b": {"type": "boolean"}}}}, "properties": {"a": {"$ref": "#/$defs/x~1y"}}}`,
			`args.a.b: it is never met: the argument is of type boolean, and the rule wants int`},
		{"by a reference to nothing", `a: {b!: int}`, `{"properties": {"a": {"$ref": "#/$defs/none"}}}`, ``},
		{"by a reference to itself", `a: {b!: int}`, `{"$defs": {"x": {"$ref": "#/$defs/x"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}`, ``},
		{"bounds", `{a: <1, b: >2.5, c: "x"}`, `{"properties": {"a": {"type": "number", "exclusiveMinimum": 1}, "b": {"maximum": 2.5}, "c": {"minimum": 1}}}`, `
args.a: it is never met: the argument is >1
args.b: it is never met: the argument is <=2.5`},
		{"an enumeration", `{a: =~"^x", b: 1 | 2}`, `{"properties": {"a": {"enum": ["a", "b"]}, "b": {"enum": [2, 3]}}}`, `args.a: it is never met: the argument is one of "a", "b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := profile(t, "servers: s: command: \"s\"\nprofiles: p: servers: s: tools: t: args: {"+c.args+"}\n")
			mistakes, warnings := p.Live("s", []definition.Tool{{Name: "t", InputSchema: json.RawMessage(c.schema)}})
			var got []string
			for _, m := range append(mistakes, warnings...) {
				got = append(got, strings.TrimPrefix(m.Path, "profiles.p.servers.s.tools.t.")+": "+m.Message)
			}
			if want := strings.TrimPrefix(c.want, "\n"); strings.Join(got, "\n") != want {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}
