package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// bundleName is the file name of a platform's MCP bundle.
func (r *release) bundleName(t target) string {
	return fmt.Sprintf("bridge_%s_%s_%s.mcpb", r.version, t.os, t.arch)
}

// bundles makes the MCP bundles, which Claude Desktop installs: one for each
// platform, since a manifest cannot tell processors apart.
func (r *release) bundles() error {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		binary, err := os.ReadFile(t.binary)
		if err != nil {
			return err
		}
		manifest, err := json.MarshalIndent(map[string]any{
			"manifest_version": "0.3",
			"name":             registryName,
			"display_name":     "bridge",
			"version":          r.version,
			"description":      summary,
			"long_description": "The agent gets one tool, run_python. Its code runs in a sandbox without network, and calls the other MCP servers of this computer as far as a policy allows. The built-in profile default allows every tool of every server that your MCP clients have; strict allows none.",
			"author":           map[string]string{"name": "the developers of bridge"},
			"license":          "Apache-2.0",
			"server": map[string]any{
				"type":        "binary",
				"entry_point": "server/" + t.program(),
				"mcp_config": map[string]any{
					"command": "${__dirname}/server/" + t.program(),
					"args":    []string{"--profile", "${user_config.profile}"},
				},
			},
			"tools":         []map[string]string{{"name": "run_python", "description": "Run Python in a stateful sandbox"}},
			"compatibility": map[string]any{"platforms": []string{nodeOS[t.os]}},
			"user_config": map[string]any{
				"profile": map[string]any{
					"type": "string", "title": "Profile", "default": "default", "required": true,
					"description": "A profile of your policies, or a built-in one: default, strict",
				},
			},
		}, "", "  ")
		if err != nil {
			return err
		}
		files := append([]file{{name: "manifest.json", data: append(manifest, '\n')}, {"server/" + t.program(), binary, true}}, documents...)
		packed, err := zipped(files, r.made)
		if err != nil {
			return err
		}
		if err := r.write(r.bundleName(t), packed); err != nil {
			return err
		}
	}
	return nil
}

// serverJSON describes the packages to the MCP registry. Whoever publishes it
// puts the namespace in that is theirs.
func (r *release) serverJSON() error {
	profile := []map[string]any{{
		"type": "named", "name": "--profile", "default": "default", "description": "A profile of your policies, or a built-in one: default, strict",
	}}
	python, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	stdio := map[string]string{"type": "stdio"}
	packages := []map[string]any{
		{"registryType": "npm", "identifier": registryName, "version": r.version, "runtimeHint": "npx", "transport": stdio, "packageArguments": profile},
		{"registryType": "pypi", "identifier": registryName, "version": python, "runtimeHint": "uvx", "transport": stdio, "packageArguments": profile},
	}
	for _, t := range r.targets {
		data, err := os.ReadFile(r.out + "/" + r.bundleName(t))
		if err != nil {
			return err
		}
		packages = append(packages, map[string]any{
			"registryType": "mcpb", "identifier": r.bundleName(t), "version": r.version, "fileSha256": fmt.Sprintf("%x", sha256.Sum256(data)), "transport": stdio,
		})
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        "io.github.bridge/" + registryName,
		"title":       "bridge",
		"description": summary,
		"version":     r.version,
		"packages":    packages,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := valid(text); err != nil {
		return fmt.Errorf("server.json: %w", err)
	}
	return r.write("server.json", append(text, '\n'))
}

//go:embed files/server.schema.json
var serverSchema []byte

// valid holds a server.json against the registry's schema.
func valid(text []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(serverSchema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("server.schema.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("server.schema.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}
