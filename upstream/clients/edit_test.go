package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// registered are configurations before and after. The bridge takes the place of
// the server named files; everything else stays as it was, to the byte.
var registered = []struct{ client, file, before, after string }{
	{"cursor", ".cursor/mcp.json", "", `{
  "mcpServers": {
    "bridge": {
      "command": "/usr/bin/bridge",
      "args": [
        "--profile",
        "mine"
      ]
    }
  }
}
`},
	{"claude-desktop", ".config/Claude/claude_desktop_config.json", `{
    // my servers
    "mcpServers": {
        "wiki": {"url": "https://wiki.example/mcp"}, // stays
        // reads files
        "files": {"command": "npx", "args": ["-y", "files"]}
    },
    "theme": "dark",
}
`, `{
    // my servers
    "mcpServers": {
        "wiki": {"url": "https://wiki.example/mcp"}, // stays
        "bridge": {
            "command": "/usr/bin/bridge",
            "args": [
                "--profile",
                "mine"
            ]
        }
    },
    "theme": "dark",
}
`},
	{"vscode", ".config/Code/User/mcp.json", "{\r\n\t\"servers\": {\r\n\t\t\"files\": {},\r\n\t},\r\n\t\"inputs\": []\r\n}\r\n",
		"{\r\n\t\"servers\": {\r\n\t\t\"bridge\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"/usr/bin/bridge\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"--profile\",\r\n\t\t\t\t\"mine\"\r\n\t\t\t]\r\n\t\t}\r\n\t},\r\n\t\"inputs\": []\r\n}\r\n"},
	{"opencode", ".config/opencode/opencode.jsonc", `{
  "model": "x" // no servers yet
}
`, `{
  "model": "x", // no servers yet
  "mcp": {
    "bridge": {
      "type": "local",
      "command": [
        "/usr/bin/bridge",
        "--profile",
        "mine"
      ],
      "enabled": true
    }
  }
}
`},
	{"codex", ".codex/config.toml", `model = "x" # the best

# reads files
[mcp_servers.files]
command = "npx"
[mcp_servers.files.env]
A = "[b]"

# about the wiki
[mcp_servers.wiki]
url = "https://wiki.example/mcp"

[tui]
theme = "dark"
`, `model = "x" # the best

# about the wiki
[mcp_servers.wiki]
url = "https://wiki.example/mcp"

[tui]
theme = "dark"

[mcp_servers.bridge]
args = ['--profile', 'mine']
command = '/usr/bin/bridge'
tool_timeout_sec = 130
`},
}

var registration = Registration{Command: "/usr/bin/bridge", Args: []string{"--profile", "mine"}, Seconds: 130}

func isFiles(name string) bool { return name == "files" }

// TestRegister puts the bridge into each kind of configuration, once, and undoes
// it, to the byte or beside what was changed since.
func TestRegister(t *testing.T) {
	for _, c := range registered {
		t.Run(c.client, func(t *testing.T) {
			o := Options{Home: t.TempDir(), Environ: []string{}, GOOS: "linux"}
			path := filepath.Join(o.Home, c.file)
			if c.before != "" {
				os.MkdirAll(filepath.Dir(path), 0o700)
				if err := os.WriteFile(path, []byte(c.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			e, err := Register(c.client, registration, isFiles, o)
			if err != nil {
				t.Fatal(err)
			}
			if e.Path != path || string(e.after) != c.after {
				t.Fatalf("%s:\n%s\nwant %s:\n%s", e.Path, e.after, path, c.after)
			}
			if err := e.Write(false); err != nil {
				t.Fatal(err)
			}
			if again, err := Register(c.client, registration, isFiles, o); err != nil || again.Changes() {
				t.Errorf("a second time: %v\n%s", err, again.after)
			}
			// Another profile, in the same place.
			other := registration
			other.Args = []string{"--profile", "other"}
			if again, err := Register(c.client, other, isFiles, o); err != nil || strings.Count(string(again.after), "other") != 1 || strings.Contains(string(again.after), "mine") {
				t.Errorf("another profile: %v\n%s", err, again.after)
			}
			// Undone beside what was changed since.
			changed := strings.Replace(c.after, "dark", "light", 1)
			os.WriteFile(path, []byte(changed), 0o600)
			if undo, err := Undo(c.client, registration, o); err != nil || strings.Contains(string(undo.after), "bridge") ||
				strings.Contains(string(undo.after), "light") != strings.Contains(changed, "light") ||
				strings.Contains(string(undo.after), "files") != strings.Contains(c.before, "files") {
				t.Errorf("undone after a change: %v\n%s", err, undo.after)
			}
			os.WriteFile(path, []byte(c.after), 0o600)
			undo, err := Undo(c.client, registration, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := undo.Write(true); err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(path); string(text) != c.before {
				t.Errorf("undone:\n%s\nwant\n%s", text, c.before)
			}
			if _, err := Undo(c.client, registration, o); err == nil {
				t.Error("undone twice")
			}
		})
	}
}

// TestRegisterNot refuses what it cannot change rightly.
func TestRegisterNot(t *testing.T) {
	for _, c := range []struct{ client, file, text, want string }{
		{"cursor", ".cursor/mcp.json", `{"mcpServers": [`, ": 1:17: parsing"},
		{"cursor", ".cursor/mcp.json", `{"mcpServers": 7}`, ": mcpServers is not an object"},
		{"codex", ".codex/config.toml", "mcp_servers.files.command = 'x'\n", `: server "files" is not written as a table of its own, [mcp_servers.files]; take it out yourself`},
		{"codex", ".codex/config.toml", "[mcp_servers]\nfiles = {command = 'x'}\n", `: server "files" is not written as a table of its own`},
		{"codex", ".codex/config.toml", "a = = 1\n", ": 1:5: "},
		{"emacs", "x", "", `unknown client "emacs"; clients: claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini, opencode, zed`},
	} {
		o := Options{Home: t.TempDir(), Environ: []string{}, GOOS: "linux"}
		path := filepath.Join(o.Home, c.file)
		os.MkdirAll(filepath.Dir(path), 0o700)
		os.WriteFile(path, []byte(c.text), 0o600)
		if _, err := Register(c.client, registration, isFiles, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}
