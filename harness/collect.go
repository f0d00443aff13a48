package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// extension is that of scenarios.
const extension = ".txtar"

// collect finds the scenarios.
func (s *suite) collect() ([]*folder, error) {
	var files []string
	for _, p := range s.Paths {
		found, err := scenarios(p)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no scenarios in %s: they are files that end in %s", p, extension)
		}
		for _, file := range found {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	var folders []*folder
	for _, file := range files {
		name := filepath.Dir(file)
		i := slices.IndexFunc(folders, func(f *folder) bool { return f.name == name })
		if i < 0 {
			i = len(folders)
			folders = append(folders, &folder{name: name})
		}
		if s.Match != nil && !s.Match.MatchString(Title(file)) {
			continue
		}
		for range s.Count {
			folders[i].trials = append(folders[i].trials, &trial{
				name: Title(file), file: file, verbose: s.Verbose, verdict: pass, done: make(chan struct{}),
			})
		}
	}
	return folders, nil
}

// scenarios are the files that a path stands for.
func scenarios(path string) ([]string, error) {
	root, below := strings.CutSuffix(filepath.ToSlash(path), "/...")
	if path == "..." {
		root, below = ".", true
	}
	if below {
		var files []string
		err := filepath.WalkDir(filepath.FromSlash(root), func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(file) == extension {
				files = append(files, file)
			}
			return err
		})
		return files, plain(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, plain(err)
	}
	if !st.IsDir() {
		return []string{filepath.Clean(path)}, nil
	}
	return filepath.Glob(filepath.Join(escaped(path), "*"+extension))
}

// escaped is a path in which nothing is a pattern.
func escaped(path string) string {
	if runtime.GOOS == "windows" {
		return path // where a pattern cannot escape
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// plain is an error of the file system as "FILE: what is wrong".
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}

// policiesFolder is where a scenario has the policies that are tested, so that
// places in them read as policies/team.cue:9:3. A scenario that brings a folder
// of this name is tested with that.
const policiesFolder = "policies"

// policyFile is a file of the policies that are tested. A scenario works on its
// own copy.
type policyFile struct {
	name string
	text []byte
}

func readPolicies(paths []string) ([]policyFile, error) {
	var list []policyFile
	for _, p := range paths {
		files := []string{p}
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			if files, err = filepath.Glob(filepath.Join(escaped(p), "*.cue")); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, plain(err)
			}
			name := filepath.Base(file)
			if slices.ContainsFunc(list, func(f policyFile) bool { return f.name == name }) {
				return nil, fmt.Errorf("two of the policies are called %s; a scenario has all of them in one folder", name)
			}
			list = append(list, policyFile{name, text})
		}
	}
	return list, nil
}

// bring writes the policies into a folder, unless it is there.
func bring(policies []policyFile, dir string) error {
	if _, err := os.Stat(dir); err == nil || len(policies) == 0 {
		return nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, p := range policies {
		if err := os.WriteFile(filepath.Join(dir, p.name), p.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// wrapper makes a folder with the command bridge in it: this program, told where
// the scenario's stand-ins are. It is written before any scenario is started:
// what is open for writing while another process is forked cannot be run.
func wrapper() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "bridge-test-")
	if err != nil {
		return "", err
	}
	name, text := "bridge", "#!/bin/sh\nexec '"+strings.ReplaceAll(self, "'", `'\''`)+`' --stand-ins="$WORK/servers" "$@"`+"\n"
	if runtime.GOOS == "windows" {
		name, text = "bridge.bat", "@\""+self+"\" \"--stand-ins=%WORK%\\servers\" %*\r\n"
	}
	return dir, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)
}

// Title is the name of the scenario in a file.
func Title(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
