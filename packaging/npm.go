package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
)

//go:embed files/bridge.js
var launcher []byte

// The names of platforms in Node.
var (
	nodeOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	nodeArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// npm makes one package for each platform, with the binary, and one that has all
// of them as optional dependencies, of which npm installs the right one.
func (r *release) npm() error {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	pack := func(name string, manifest map[string]any, files ...file) error {
		manifest["name"], manifest["version"], manifest["license"] = name, r.version, "Apache-2.0"
		text, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return err
		}
		files = append([]file{{name: "package.json", data: append(text, '\n')}}, files...)
		for i := range files {
			files[i].name = "package/" + files[i].name
		}
		packed, err := tarball(files, r.made)
		if err != nil {
			return err
		}
		return r.write(fmt.Sprintf("%s-%s.tgz", name, r.version), packed)
	}
	optional := map[string]string{}
	for _, t := range r.targets {
		binary, err := os.ReadFile(t.binary)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s", registryName, nodeOS[t.os], nodeArch[t.arch])
		optional[name] = r.version
		manifest := map[string]any{
			"description": "The binary of " + registryName + " for " + t.os + " on " + t.arch,
			"os":          []string{nodeOS[t.os]}, "cpu": []string{nodeArch[t.arch]}, "preferUnplugged": true,
		}
		own := append([]file{{"bin/" + t.program(), binary, true}}, documents[:2]...) // NOTICES and LICENSE
		if err := pack(name, manifest, own...); err != nil {
			return err
		}
	}
	return pack(registryName, map[string]any{
		"description":          summary,
		"keywords":             []string{"mcp", "model-context-protocol", "sandbox", "python", "policy"},
		"bin":                  map[string]string{registryName: "bridge.js", systemName: "bridge.js"},
		"engines":              map[string]string{"node": ">=18"},
		"optionalDependencies": optional,
	}, append([]file{{"bridge.js", launcher, true}}, documents...)...)
}
