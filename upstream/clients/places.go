package clients

import (
	"os"
	"path/filepath"
	"strings"
)

// place is a file that may hold servers.
type place struct {
	client  string
	path    string
	named   bool // by whoever asks: it is a mistake if it is not there
	section func(f *finder, p place, root node) []field
	dialect dialect
}

// dialect is what the values of one client mean that others have not, or have
// in another way.
type dialect struct {
	dollar  bool // $NAME stands for a variable, as ${NAME} does
	braces  bool // {env:NAME} stands for a variable
	millis  bool // timeout is that of a call, in milliseconds
	bareSSE bool // a url without more is of the older transport
}

// client is one program whose configurations are known.
type client struct {
	name  string
	files func(f *finder) []string
	in    func(f *finder, p place, root node) []field
	dialect
}

// known are the clients, in the order in which they are read.
var known = []client{
	{name: "mcps", files: func(f *finder) []string { return f.folder(f.home("MCPs")) }, in: anySection},
	{name: "mcp", files: func(f *finder) []string { return f.folder(f.home(".config", "mcp", "servers")) }, in: anySection},
	{name: "claude-code", files: func(f *finder) []string {
		if dir := f.env["CLAUDE_CONFIG_DIR"]; dir != "" {
			return []string{filepath.Join(dir, ".claude.json"), f.home(".claude.json")}
		}
		return []string{f.home(".claude.json")}
	}, in: claudeCode},
	{name: "claude-desktop", files: func(f *finder) []string { return f.support("Claude/claude_desktop_config.json") }, in: under("mcpServers")},
	{name: "cursor", files: func(f *finder) []string { return []string{f.home(".cursor", "mcp.json")} }, in: under("mcpServers")},
	{name: "vscode", files: vscode, in: vscodeSection},
	{name: "windsurf", files: func(f *finder) []string {
		return []string{f.home(".codeium", "windsurf", "mcp_config.json"), f.home(".codeium", "windsurf-next", "mcp_config.json")}
	}, in: under("mcpServers")},
	{name: "codex", files: func(f *finder) []string {
		if dir := f.env["CODEX_HOME"]; dir != "" {
			return []string{filepath.Join(dir, "config.toml")}
		}
		return []string{f.home(".codex", "config.toml")}
	}, in: under("mcp_servers")},
	{name: "gemini", files: func(f *finder) []string { return []string{f.home(".gemini", "settings.json")} }, in: gemini,
		dialect: dialect{dollar: true, millis: true, bareSSE: true}},
	{name: "opencode", files: func(f *finder) []string {
		list := []string{}
		for _, dir := range []string{f.config("opencode"), f.home(".config", "opencode")} {
			for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
				list = append(list, filepath.Join(dir, name))
			}
		}
		return append(list, f.home(".opencode.json"))
	}, in: opencode, dialect: dialect{braces: true}},
	{name: "zed", files: func(f *finder) []string {
		list := []string{f.config("zed", "settings.json"), f.home(".config", "zed", "settings.json")}
		return append(list, f.support("Zed/settings.json")...)
	}, in: under("context_servers")},
	{name: "antigravity", files: func(f *finder) []string {
		return []string{f.home(".gemini", "antigravity", "mcp_config.json"), f.home(".gemini", "config", "mcp_config.json")}
	}, in: under("mcpServers")},
}

// places are the files that sources stand for.
func (f *finder) places(sources []string) []place {
	var list []place
	for _, source := range sources {
		if strings.HasPrefix(source, "~/") {
			source = filepath.Join(f.options.Home, source[2:])
		}
		if filepath.IsAbs(source) {
			list = append(list, place{client: "file", path: filepath.Clean(source), named: true, section: anySection})
			continue
		}
		for _, c := range known {
			if source != All && source != c.name {
				continue
			}
			for _, path := range c.files(f) {
				list = append(list, place{client: c.name, path: path, section: c.in, dialect: c.dialect})
			}
		}
		if file := f.env[Config]; source == All && file != "" {
			if rest, ok := strings.CutPrefix(file, "~/"); ok {
				file = filepath.Join(f.options.Home, rest)
			}
			if !filepath.IsAbs(file) {
				file = filepath.Join(f.options.Dir, file)
			}
			list = append(list, place{client: Config, path: file, named: true, section: anySection})
		}
	}
	return list
}

// home is a path in the user's home folder.
func (f *finder) home(path ...string) string {
	return filepath.Join(append([]string{f.options.Home}, path...)...)
}

// config is a path in the folder for settings.
func (f *finder) config(path ...string) string {
	dir := f.env["XDG_CONFIG_HOME"]
	if dir == "" || !filepath.IsAbs(dir) {
		dir = f.home(".config")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// support are the paths of a file in the folders where programs with windows
// keep theirs, that of this system first. The others are looked at too: a home
// folder may be shared, or have come from another machine.
func (f *finder) support(path string) []string {
	path = filepath.FromSlash(path)
	linux, darwin := f.config(path), f.home("Library", "Application Support", path)
	roaming := f.env["APPDATA"]
	if roaming == "" {
		roaming = f.home("AppData", "Roaming")
	}
	windows := filepath.Join(roaming, path)
	var list []string
	switch f.options.GOOS {
	case "darwin":
		list = []string{darwin, linux, windows}
	case "windows":
		list = []string{windows, linux, darwin}
	default:
		list = []string{linux, f.home(".config", path), darwin, windows}
	}
	return list
}

// folder lists the JSON files of a folder by their names.
func (f *finder) folder(dir string) []string {
	f.folders = append(f.folders, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if ext := strings.ToLower(filepath.Ext(e.Name())); (ext == ".json" || ext == ".jsonc") && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// vscode lists the files of VS Code and its siblings: of the user, and of each
// of the user's profiles.
func vscode(f *finder) []string {
	var list []string
	for _, product := range []string{"Code", "Code - Insiders", "VSCodium"} {
		for _, dir := range f.support(product + "/User") {
			list = append(list, filepath.Join(dir, "mcp.json"), filepath.Join(dir, "settings.json"))
			profiles := filepath.Join(dir, "profiles")
			if entries, err := os.ReadDir(profiles); err == nil {
				f.folders = append(f.folders, profiles)
				for _, e := range entries {
					list = append(list, filepath.Join(profiles, e.Name(), "mcp.json"))
				}
			}
		}
	}
	return list
}
