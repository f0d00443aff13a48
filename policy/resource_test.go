package policy

import (
	"regexp"
	"testing"
)

// A URI whose path leads elsewhere than it reads is told, however it is written.
func TestWanders(t *testing.T) {
	for uri, want := range map[string]bool{
		"file:///srv/docs/a.txt":        false,
		"file:///srv/docs/..a/b..":      false,
		"docs://a?b=../c":               false,
		"docs://a/...":                  false,
		"file:///srv/docs/../../etc":    true,
		"file:///srv/docs/./a":          true,
		"file:///srv/docs/..":           true,
		"file:///srv/docs/%2e%2E/a":     true,
		"file:///srv/docs/.%2e%2fa":     true,
		`file:///srv/docs/..\a`:         true,
		"file:///srv/docs/%2e%2e%5Ca":   true,
		"file:///srv/docs/..;x/a":       true,
		"file:///srv/docs/..#fragment":  true,
		"file:///srv/docs/a/..?q=value": true,
		"file:///srv/docs/a?/../../etc": true,
		"file:///srv/docs/%252e%252e/a": true,
		"file:///srv/docs/..%00/a":      true,
		"file:///srv/docs/..\x00.txt":   true,
		"file:///srv/docs/.\t./a":       true,
		"file:///srv/docs/.\n\r/a":      true,
		"file:///srv/docs/.. ":          true,
		"file:///srv/docs/%2e.%20":      true,
		"file:///srv/docs/a b.txt":      false,
		"file:///srv/docs/100%/a%2":     false,
		"file:///srv/docs/a%ff..txt":    false,
	} {
		if got := wanders(uri); got != want {
			t.Errorf("wanders(%q) = %v", uri, got)
		}
	}
}

// A template is said to give a URI, or to meet a pattern, unless it cannot.
func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"docs://{name}", "docs://a/b", true},
		{"docs://{name}/raw", "docs://a/raw", true},
		{"docs://{name}/raw", "docs://a", false},
		{"docs://a.b", "docs://aXb", false},
		{"docs://x{?q,r}", "docs://x?q=1", true},
	} {
		if got := gives(c.template, c.uri); got != c.want {
			t.Errorf("gives(%q, %q) = %v", c.template, c.uri, got)
		}
	}
	for _, c := range []struct {
		pattern, template string
		want              bool
	}{
		{"^docs://a/", "docs://{name}", true},
		{"^docs://a/", "docs://a/b/{name}", true},
		{"^docs://a/", "docs://b/{name}", false},
		{"^docs://[a-z]+$", "docs://{name}", true},
		{"^mail://", "docs://{name}", false},
		{"name$", "docs://{name}", true},
	} {
		p := pattern{re: regexp.MustCompile(c.pattern)}
		if got := p.meets(c.template); got != c.want {
			t.Errorf("%q meets %q: %v", c.pattern, c.template, got)
		}
	}
}
