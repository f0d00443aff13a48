package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bridge/definition"
)

// What a definition may hold, and what is written down of it.
func TestHidden(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("OTHERS", "set to something else")
	for _, c := range []struct{ what, value, want string }{
		{"env TOKEN", "abc", "${TOKEN}"},
		{"env TOKEN", "${GITHUB_TOKEN}", "${GITHUB_TOKEN}"},
		{"env TOKEN", "${GITHUB_TOKEN:-}", "${GITHUB_TOKEN:-}"},
		{"env TOKEN", "${GITHUB_TOKEN:-abc}", "${TOKEN}"},
		{"env TOKEN", "${GITHUB_TOKEN}abc", "${TOKEN}"},
		{"env TOKEN", "", ""},
		{"env OTHERS", "abc", "${S_OTHERS_2}"},
		{"env api-key", "abc", "${API_KEY}"},
		{"env DEBUG", "true", "true"},
		{"env LOG_LEVEL", "Debug", "Debug"},
		{"env PORT", "8080", "8080"},
		{"env PIN", "8080", "${PIN}"},
		{"env ACCOUNT", "123456789", "${ACCOUNT}"},
		{"env FOLDER", folder, folder},
		{"env FOLDER", filepath.Join(folder, "none"), "${FOLDER}"},
		{"env GRAFANA_URL", "https://grafana.acme.example", "${GRAFANA_URL}"},
		{"header Authorization", "Bearer abc", "Bearer ${S_AUTHORIZATION}"},
		{"header Authorization", "Bearer ${T}", "Bearer ${T}"},
		{"header Authorization", "abc", "${S_AUTHORIZATION}"},
		{"header X-Read-Only", "true", "true"},
		{"url", "https://mcp.acme.example/v1/mcp", "https://mcp.acme.example/v1/mcp"},
		{"url", "https://mcp.acme.example:8443/mcp?key=abc&debug=true", "https://mcp.acme.example:8443/mcp?key=${S_KEY}&debug=true"},
		{"url", "https://me:pw@mcp.acme.example/mcp", "https://${S_LOGIN}@mcp.acme.example/mcp"},
		{"url", "https://mcp.acme.example/s/a94a8fe5cc/mcp", "https://mcp.acme.example/s/${S_PATH}/mcp"},
		{"url", "https://mcp.acme.example/s/${KEY}/mcp", "https://mcp.acme.example/s/${KEY}/mcp"},
		{"args", "-y|@modelcontextprotocol/server-filesystem@2025.8.21|/srv/reports", "-y|@modelcontextprotocol/server-filesystem@2025.8.21|/srv/reports"},
		{"args", "--api-key|abc|--root|abc", "--api-key|${S_API_KEY}|--root|abc"},
		{"args", "--token=abc|--port=80|--mode=abc", "--token=${S_TOKEN}|--port=80|--mode=abc"},
		{"args", "--max-tokens|4000|--token|--debug", "--max-tokens|4000|--token|--debug"},
		{"args", "run|-e|GITHUB_TOKEN|-e|API=abc|-e|N=1|image:latest", "run|-e|GITHUB_TOKEN|-e|API=${API}|-e|N=1|image:latest"},
		{"args", "mcp-remote|https://mcp.acme.example/sse|--header|Authorization: Bearer abc", "mcp-remote|https://mcp.acme.example/sse|--header|Authorization: Bearer ${S_AUTHORIZATION}"},
		{"args", "--header|Authorization:${AUTH}", "--header|Authorization:${AUTH}"},
		{"args", "postgres://me:pw@db.example/sales?sslmode=abc", "postgres://${S_LOGIN}@db.example/sales?sslmode=${S_SSLMODE}"},
		{"args", "Server=db;Password=abc", "${S_ARGUMENT}"},
		{"args", "xoxb-1234-AbCdEfGhIjKl1234", "${S_ARGUMENT}"},
		{"args", "123e4567-e89b-12d3-a456-426614174000", "${S_ARGUMENT}"},
		{"args", "-c|cd /srv; GH=abc exec x", "-c|${S_ARGUMENT}"},
		{"args", "a=b=c|--|x", "a=b=c|--|x"},
		{"command", "npx -y x --api-key abc", "npx -y x --api-key ${S_API_KEY}"},
		{"command", "/opt/My Program/run", "/opt/My Program/run"},
	} {
		d := definition.Server{Name: "s"}
		kind, name, _ := strings.Cut(c.what, " ")
		switch kind {
		case "env":
			d.Env = map[string]string{name: c.value}
		case "header":
			d.Headers = map[string]string{name: c.value}
		case "url":
			d.URL = c.value
		case "command":
			d.Command = c.value
		case "args":
			d.Args = strings.Split(c.value, "|")
		}
		got, wanted := newHidden([]definition.Server{d}).definition(d)
		text := got.Command + got.Env[name] + got.Headers[name] + got.URL + strings.Join(got.Args, "|")
		if text != c.want {
			t.Errorf("%s %q is written as %q, not as %q", c.what, c.value, text, c.want)
		}
		for _, v := range wanted {
			if !strings.Contains(text, "${"+v+"}") {
				t.Errorf("%s %q: %s is wanted, and not in %q", c.what, c.value, v, text)
			}
		}
	}
}

// One variable stands for one value, whoever has it.
func TestHiddenNames(t *testing.T) {
	os.Unsetenv("TOKEN")
	var defs []definition.Server
	for _, token := range []string{"a", "b", "a", "${TOKEN}"} {
		defs = append(defs, definition.Server{Name: fmt.Sprint("s", len(defs)), Env: map[string]string{"KEY": token}})
	}
	defs = append(defs, definition.Server{Name: "天气", Env: map[string]string{"TOKEN": "c", "9": "d"}})
	h := newHidden(defs)
	var got []string
	for _, d := range defs {
		d, _ = h.definition(d)
		got = append(got, fmt.Sprint(d.Env))
	}
	want := "map[KEY:${KEY}] map[KEY:${S1_KEY_2}] map[KEY:${KEY}] map[KEY:${TOKEN}] map[9:${VALUE_9} TOKEN:${TOKEN_2}]"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s\nnot %s", text, want)
	}
}
