package upstream

import (
	"maps"
	"slices"
	"testing"
)

func TestAliasesAreNamesInPython(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  map[string]string
	}{
		{nil, map[string]string{}},
		{[]string{"github"}, map[string]string{"github": "github"}},
		{[]string{"My-Server.v2"}, map[string]string{"My-Server.v2": "my_server_v2"}},
		{[]string{"1password", "", "-", "é"}, map[string]string{"": "_", "-": "__2", "1password": "_1password", "é": "__3"}},
		{[]string{"class", "import", "None", "async", "match", "print"}, map[string]string{
			"class": "class_", "import": "import_", "None": "none", "async": "async_", "match": "match", "print": "print",
		}},
		{[]string{"a_b", "a-b", "A B"}, map[string]string{"a_b": "a_b", "A B": "a_b_2", "a-b": "a_b_3"}},
		{[]string{"a-b", "a_b", "a_b_2"}, map[string]string{"a_b": "a_b", "a_b_2": "a_b_2", "a-b": "a_b_3"}},
		{[]string{"class", "class_", "CLASS"}, map[string]string{"class_": "class_", "CLASS": "class__2", "class": "class__3"}},
		{[]string{"good", "Good"}, map[string]string{"good": "good", "Good": "good_2"}},
		{[]string{"x", "x"}, map[string]string{"x": "x"}},
		{[]string{"call_tool", "Call-Tool", "call_tool_2"}, map[string]string{"call_tool": "call_tool_4", "Call-Tool": "call_tool_3", "call_tool_2": "call_tool_2"}},
		{[]string{"__init__", "__Init__", "__a", "_repr_png_", "_reprise"}, map[string]string{
			"__init__": "__init___3", "__Init__": "__init___2", "__a": "__a", "_repr_png_": "_repr_png__2", "_reprise": "_reprise",
		}},
	} {
		for range 2 {
			if got := ToolAliases(test.names); !maps.Equal(got, test.want) {
				t.Errorf("%q: %q, want %q", test.names, got, test.want)
			}
			slices.Reverse(test.names)
		}
	}
}

func TestAliasesOfServersLeaveTheirMappingWhole(t *testing.T) {
	got := ServerAliases([]string{"get", "servers", "call_tool", "__path__"})
	want := map[string]string{"get": "get_2", "servers": "servers_2", "call_tool": "call_tool", "__path__": "__path___2"}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
