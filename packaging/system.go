package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// imageContexts makes the folders that make image builds from, one for each
// processor.
func (r *release) imageContexts() error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		folder := filepath.Join(r.out, "image-"+t.arch)
		if err := os.MkdirAll(filepath.Join(folder, "tmp"), 0o755); err != nil {
			return err
		}
		for name, source := range map[string]string{"bridge": t.binary, "LICENSE": "LICENSE"} {
			if err := os.Link(source, filepath.Join(folder, name)); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "NOTICES"), r.notices, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// systemPackages makes the deb and rpm packages with nfpm.
func (r *release) systemPackages() error {
	work, err := os.MkdirTemp("", "bridge-packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	put := func(name string, data []byte) (path string, err error) {
		path = filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		return path, os.WriteFile(path, data, 0o644)
	}
	var contents []map[string]any
	add := func(source, target string, mode int) {
		contents = append(contents, map[string]any{"src": source, "dst": target, "file_info": map[string]any{"mode": mode, "mtime": r.made.Format("2006-01-02T15:04:05Z")}})
	}
	manual, err := manuals(systemName, r.version, r.made)
	if err != nil {
		return err
	}
	for _, page := range manual {
		path, err := put(page.name, page.data)
		if err != nil {
			return err
		}
		add(path, "/usr/share/man/man1/"+filepath.Base(page.name), 0o644)
	}
	completions, err := completions(systemName)
	if err != nil {
		return err
	}
	places := map[string]string{
		systemName + ".bash": "/usr/share/bash-completion/completions/" + systemName,
		"_" + systemName:     "/usr/share/zsh/site-functions/_" + systemName,
		systemName + ".fish": "/usr/share/fish/vendor_completions.d/" + systemName + ".fish",
	}
	for _, c := range completions {
		path, err := put(c.name, c.data)
		if err != nil {
			return err
		}
		if place, ok := places[filepath.Base(c.name)]; ok {
			add(path, place, 0o644)
		}
	}
	notices, err := put("NOTICES", r.notices)
	if err != nil {
		return err
	}
	documents := "/usr/share/doc/" + systemName
	add(notices, documents+"/NOTICES", 0o644)
	add("LICENSE", documents+"/copyright", 0o644)
	add("README.md", documents+"/README.md", 0o644)
	add("CHANGELOG.md", documents+"/CHANGELOG.md", 0o644)
	add("packaging/files/apparmor", "/usr/share/"+systemName+"/apparmor", 0o644)
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		mine := append(contents[:len(contents):len(contents)], map[string]any{
			"src": t.binary, "dst": "/usr/bin/" + systemName, "file_info": map[string]any{"mode": 0o755, "mtime": r.made.Format("2006-01-02T15:04:05Z")},
		})
		config, err := json.Marshal(map[string]any{
			"name": systemName, "arch": t.arch, "platform": "linux", "version": r.version, "version_schema": "semver",
			"section": "utils", "maintainer": "the developers of bridge <bridge@localhost>", "description": summary, "license": "Apache-2.0",
			"mtime": r.made.Format("2006-01-02T15:04:05Z"), "suggests": []string{"podman"}, "recommends": []string{"python3"},
			"contents": mine,
			"scripts":  map[string]string{"postinstall": "packaging/files/postinstall", "preremove": "packaging/files/preremove"},
			"rpm":      map[string]any{"buildhost": "localhost", "group": "Development/Tools"},
		})
		if err != nil {
			return err
		}
		path, err := put("nfpm-"+t.arch+".yaml", config) // JSON is YAML
		if err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm"} {
			file := filepath.Join(r.out, fmt.Sprintf("%s_%s_%s.%s", systemName, r.version, t.arch, format))
			cmd := exec.Command(r.nfpm, "package", "--config", path, "--packager", format, "--target", file)
			cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.made.Unix()))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
			}
			fmt.Println(file)
		}
	}
	return nil
}
