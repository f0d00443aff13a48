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
	} {
		for range 2 {
			if got := Aliases(test.names); !maps.Equal(got, test.want) {
				t.Errorf("%q: %q, want %q", test.names, got, test.want)
			}
			slices.Reverse(test.names)
		}
	}
}
