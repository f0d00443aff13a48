package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bridge/definition"
)

// TestCatalogsAreKept tells that a later set knows the tools of a server that
// it has not started, and asks the server itself before it says that a tool is
// not there.
func TestCatalogsAreKept(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, "catalogs")
	def := toyDefinition(t)
	def.Env["SECRET"] = "swordfish"
	first := open(t, def)
	first.Keep(state)
	before, err := first.Tools(t.Context(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	first.Close()

	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("%d files are kept: %v", len(files), files)
	}
	if text, _ := os.ReadFile(files[0]); strings.Contains(string(text), "swordfish") {
		t.Error("the file has a secret in it")
	}
	if info, _ := os.Stat(files[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode())
	}

	// Another secret is not another server.
	def.Env["SECRET"] = "haddock"
	def.Command = "/no/such/program"
	if (&archive{dir}).file(def) == files[0] {
		t.Error("another program has the same file")
	}
	def.Command = first.servers["toy"].def.Command
	second := open(t, def)
	second.Keep(state)
	after, err := second.Tools(t.Context(), "toy")
	if err != nil || names(after) != names(before) || string(after[0].InputSchema) != string(before[0].InputSchema) {
		t.Errorf("tools = %s, %v, want %s", names(after), err, names(before))
	}
	if second.servers["toy"].conn != nil {
		t.Error("the server was started to list its tools")
	}
	if _, known := second.Known("toy"); known {
		t.Error("what was kept counts as known")
	}
	if got := call(t, second, "echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("echo = %q", got)
	}

	// A file that is broken is as none.
	if err := os.WriteFile(files[0], []byte(`{"server":"toy","tools":[{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	third := open(t, def)
	third.Keep(state)
	if again, err := third.Tools(t.Context(), "toy"); err != nil || names(again) != names(before) {
		t.Errorf("tools = %s, %v", names(again), err)
	}
}

// TestOldCatalogsGo tells that a catalog is removed that was not kept again for
// long, and that one which is kept again, though it is the same, stays.
func TestOldCatalogsGo(t *testing.T) {
	a := &archive{t.TempDir()}
	save := func(name string) string {
		def := definition.Server{Name: name}
		if err := a.save(def, &catalog{}); err != nil {
			t.Fatal(err)
		}
		return a.file(def)
	}
	gone, used := save("gone"), save("used")
	old := time.Now().Add(-keptFor - time.Hour)
	for _, file := range []string{gone, used} {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	save("used")
	save("new")
	if _, err := os.Stat(gone); err == nil {
		t.Error("the old one is there")
	}
	if _, err := os.Stat(used); err != nil {
		t.Error(err)
	}
}
