package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one whose code is in the binaries.
type module struct {
	Path, Version, Dir string
}

// modules are those of all platforms, sorted by their path.
func (r *release) modules() ([]module, error) {
	found := map[string]module{}
	for _, t := range platforms {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for packages := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					module
					Main    bool
					Replace *module
				}
			}
			if err := packages.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main {
				found[p.Module.Path] = p.Module.module
			}
		}
	}
	var all []module
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// licence matches the names of files that say under which terms code may be used.
var licence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)`)

// licences joins the licence files of Go and of all modules. A module without
// one is an error.
func (r *release) licences() ([]byte, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	all := append([]module{{Path: "Go and its standard library", Dir: strings.TrimSpace(string(root))}}, modules...)
	var b bytes.Buffer
	fmt.Fprintf(&b, "bridge contains the code of these modules, under the terms below.\n")
	for _, m := range all {
		entries, err := os.ReadDir(m.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		some := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !licence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
			if err != nil {
				return nil, err
			}
			some = true
			fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.TrimSpace(m.Path+" "+m.Version+", "+e.Name()), bytes.TrimSpace(text))
		}
		if !some {
			return nil, fmt.Errorf("%s %s has no licence file in %s", m.Path, m.Version, m.Dir)
		}
	}
	return b.Bytes(), nil
}

// bill writes what the binaries are made of, as CycloneDX 1.6.
func (r *release) bill() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	type component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		URL     string `json:"purl,omitempty"`
	}
	self := "bridge@" + r.version
	components, refs := []component{}, []string{}
	for _, m := range modules {
		url := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, component{"library", url, m.Path, m.Version, url})
		refs = append(refs, url)
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.made.Format("2006-01-02T15:04:05Z"),
			"component": component{"application", self, "bridge", r.version, ""},
		},
		"components":   components,
		"dependencies": []map[string]any{{"ref": self, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("bridge_%s.cdx.json", r.version), append(text, '\n'))
}
