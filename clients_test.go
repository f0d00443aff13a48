package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/native"
)

// dot is a picture, in base64.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestClients has real clients, Codex and Claude Code, call run_python, and looks
// at what they tell their model of each call: the text as it was composed, with
// every note, pictures as pictures, and each file once. The model is a stand-in;
// all else is real.
func TestClients(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine sandbox.Engine) {
		if engine.Name() != native.Name {
			return // what clients make of a result is the same on all engines
		}
		npm, err := filepath.Abs("testdata/npm/node_modules")
		if err != nil {
			t.Fatal(err)
		}
		machine := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		if machine == "" {
			machine = runtime.GOARCH
		}
		claude, codex := npm+"/@anthropic-ai/claude-code-linux-"+machine+"/claude", npm+"/.bin/codex"
		for _, program := range []string{claude, codex} {
			if _, err := os.Stat(program); err != nil {
				project.Skip(t, "the peers from npm are not installed: make peers: ", err)
			}
		}
		for _, format := range []string{"compact", "toon", "json"} {
			t.Run("Codex/"+format, func(t *testing.T) { t.Parallel(); testClient(t, client{codex, configureCodex, codexBlocks}, format) })
			t.Run("Claude/"+format, func(t *testing.T) { t.Parallel(); testClient(t, client{claude, configureClaude, claudeBlocks}, format) })
		}
	})
}

// A client is a program that is given a home folder, and asks a model.
type client struct {
	program   string
	configure func(home, bridge, format, model string) (args, env []string, err error)
	blocks    func(told json.RawMessage) []block
}

// block is a piece of what a model is told.
type block struct{ text, image string }

// clientCalls are codes, and what a model must be told of each.
var clientCalls = []struct {
	code   string
	texts  map[string]string // by format
	images int
	link   string // to what must be named once
}{{
	code: "import base64\nclass Dot:\n    def _repr_png_(self): return base64.b64decode('" + dot + "')\n" +
		"open('/workspace/table.csv', 'w').write('a,b')\nprint('printed')\ndisplay(Dot())\n6 * 7",
	texts: map[string]string{
		"compact": "printed\n42",
		"toon": "status: success\nstdout: \"printed\\n\"\nresult: \"42\"\ntimeoutSeconds: 30\n" +
			"files[1]{path,size,uri}:\n  /workspace/table.csv,3,\"bridge://session/workspace/table.csv\"",
		"json": `{"status":"success","stdout":"printed\n","result":"42","timeoutSeconds":30,` +
			`"files":[{"path":"/workspace/table.csv","size":3,"uri":"bridge://session/workspace/table.csv"}],` +
			`"links":[{"name":"image-1.png","mimeType":"image/png","size":70,"uri":"bridge://session/runs/1/image-1.png"}]}`,
	},
	images: 1,
	link:   "bridge://session/workspace/table.csv",
}, {
	code: "for n in range(9): display(Dot())",
	texts: map[string]string{
		"compact": "note: 1 more image is linked as resources",
	},
	images: 8,
	link:   "bridge://session/runs/2/image-9.png",
}, {
	code: "raise ValueError('no')",
	texts: map[string]string{
		"compact": "status: error\nexit code: 1\nTraceback (most recent call last):\n  File \"<run 3>\", line 1, in <module>\n    raise ValueError('no')\nValueError: no",
	},
}, {
	code: "import os; os._exit(3)",
	texts: map[string]string{
		"compact": "status: error\nexit code: 3\nrun_python: the session's Python exited with code 3; variables and files of the session were lost",
		"toon": "status: error\nerror:\n  type: ProcessLost\n  message: \"run_python: the session's Python exited with code 3; variables and files of the session were lost\"\n" +
			"exitCode: 3\ntimeoutSeconds: 30\nsession: lost",
	},
}, {
	code: "'again'",
	texts: map[string]string{
		"compact": "note: this session is new; variables and files of earlier runs are gone\n'again'",
		"toon":    "status: success\nnotes[1]: this session is new; variables and files of earlier runs are gone\nresult: 'again'\ntimeoutSeconds: 30\nsession: new",
		"json":    `{"status":"success","notes":["this session is new; variables and files of earlier runs are gone"],"result":"'again'","timeoutSeconds":30,"session":"new"}`,
	},
}}

func testClient(t *testing.T, c client, format string) {
	var codes []string
	for _, call := range clientCalls {
		codes = append(codes, call.code)
	}
	m := newModel(t, codes)
	bridge, err := exec.LookPath("bridge")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	args, env, err := c.configure(home, bridge, format, m.url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir = home
	path := filepath.Dir(c.program) + string(os.PathListSeparator) + os.Getenv("PATH") // .bin has the node of Codex
	cmd.Env = append(env, "HOME="+home, "PATH="+path, "TMPDIR="+home)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	for i, call := range clientCalls {
		blocks := c.blocks(m.answer(i))
		if len(blocks) == 0 {
			t.Fatalf("call %d: the model was told nothing: %s\n%s", i, m.answer(i), said)
		}
		var first string
		var all strings.Builder
		images := 0
		for _, b := range blocks {
			if first == "" {
				first = b.text // structured content comes after the pictures
			}
			all.WriteString(b.text)
			if b.image == dot {
				images++
			}
		}
		if want, known := call.texts[format]; known && first != want {
			t.Errorf("call %d: the text is\n%s\nwant\n%s", i, first, want)
		}
		// Of structured content Codex tells its model nothing else.
		if images != call.images && !(format == "json" && images == 0) {
			t.Errorf("call %d: %d pictures, want %d", i, images, call.images)
		}
		if n := strings.Count(all.String(), call.link); call.link != "" && n != 1 {
			t.Errorf("call %d: %s is named %d times:\n%s", i, call.link, n, all.String())
		}
	}
}

// configureCodex writes what Codex has in its home folder.
func configureCodex(home, bridge, format, model string) (args, env []string, err error) {
	text := fmt.Sprintf(`model = "gpt-5"
model_provider = "stand-in"

[model_providers.stand-in]
name = "stand-in"
base_url = "%s/v1"
env_key = "STAND_IN_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.bridge]
command = %q
tool_timeout_sec = 130
env = {MCP_BRIDGE_RUNTIME = "native", MCP_BRIDGE_OUTPUT_MODE = %q}
`, model, bridge, format)
	if err := os.Mkdir(home+"/.codex", 0o700); err != nil {
		return nil, nil, err
	}
	args = []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go on"}
	return args, []string{"STAND_IN_KEY=none"}, os.WriteFile(home+"/.codex/config.toml", []byte(text), 0o600)
}

// codexBlocks are what Codex tells: a text, or a list of blocks after one with
// the time that the call took.
func codexBlocks(told json.RawMessage) []block {
	var text string
	if json.Unmarshal(told, &text) == nil {
		_, text, _ = strings.Cut(text, "\nOutput:\n")
		return []block{{text: text}}
	}
	var list []struct {
		Text     string
		ImageURL string `json:"image_url"`
	}
	json.Unmarshal(told, &list)
	var blocks []block
	for _, b := range list[min(len(list), 1):] {
		blocks = append(blocks, block{b.Text, strings.TrimPrefix(b.ImageURL, "data:image/png;base64,")})
	}
	return blocks
}

// configureClaude writes what Claude Code is given on its command line.
func configureClaude(home, bridge, format, model string) (args, env []string, err error) {
	config, err := json.Marshal(object{"mcpServers": object{"bridge": object{
		"command": bridge, "env": object{"MCP_BRIDGE_RUNTIME": native.Name, "MCP_BRIDGE_OUTPUT_MODE": format},
	}}})
	if err != nil {
		return nil, nil, err
	}
	args = []string{"-p", "go on", "--mcp-config", home + "/mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__bridge__run_python"}
	// The stand-in does not search for tools.
	env = []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	return args, env, os.WriteFile(home+"/mcp.json", config, 0o600)
}

// claudeBlocks are what Claude Code tells: a text, or a list of blocks, in which
// a line that says where it keeps a picture follows each.
func claudeBlocks(told json.RawMessage) []block {
	var text string
	if json.Unmarshal(told, &text) == nil {
		return []block{{text: text}}
	}
	var list []struct {
		Text   string
		Source struct{ Data string }
	}
	json.Unmarshal(told, &list)
	var blocks []block
	for _, b := range list {
		if !strings.HasPrefix(b.Text, "[Image: source: ") {
			blocks = append(blocks, block{b.Text, b.Source.Data})
		}
	}
	return blocks
}
