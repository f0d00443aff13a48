package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	cueload "cuelang.org/go/cue/load"
)

// CUE's own tools understand policies below the module: what is right for us is
// right for them, and what they find wrong they find where it is.
func TestModule(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range Module(nil) {
		write(f.Name, f.Text)
	}
	examples, err := filepath.Glob("manual/examples/*.cue")
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range append(examples, "../policies/default.cue", "../policies/strict.cue") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write("policies/team.cue", string(text))
		p, err := Load([]string{filepath.Join(dir, "policies")})
		if err != nil {
			t.Fatal(err)
		}
		for _, files := range [][]ModuleFile{Module(nil), Module(p)} {
			for _, f := range files {
				write(f.Name, f.Text)
			}
			if mistakes := cueVet(dir); mistakes != "" {
				t.Errorf("%s:\n%s", name, mistakes)
			}
		}
	}

	write("policies/team.cue", `package policy

_readers: {[=~"^get_"]: {}}
#base: limits: pids: 64
servers: github: {command: "gh", comand: "gh"}
profiles: x: {
	timeout: max: 1000000
	servers: github: tools: {_readers, delete: confirm: "yes"}
}
`)
	got := cueVet(dir)
	for _, want := range []string{
		"servers.github.comand: field not allowed", "team.cue:5:34",
		"profiles.x.timeout.max: invalid value 1000000 (out of bound <=86400)", "team.cue:7:16",
		`profiles.x.servers.github.tools.delete.confirm: conflicting values "yes" and bool`, "team.cue:8:54",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}

	// What is above a folder of policies we do not read, and in it refuse.
	if _, err := Load([]string{filepath.Join(dir, "schema.cue")}); err == nil || !strings.Contains(err.Error(), "#Policy is the schema's, which is not part of a policy: keep it in the folder above") {
		t.Errorf("the schema as a policy: %v", err)
	}
}

// cueVet is what `cue vet -c=false ./policies` says.
func cueVet(dir string) string {
	for _, inst := range cueload.Instances([]string{"./policies"}, &cueload.Config{Dir: dir}) {
		if inst.Err != nil {
			return errors.Details(inst.Err, nil)
		}
		if err := cuecontext.New().BuildInstance(inst).Validate(cue.All()); err != nil {
			return errors.Details(err, nil)
		}
	}
	return ""
}
