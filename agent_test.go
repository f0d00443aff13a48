package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"bridge/harness/project"
	"bridge/sandbox"
)

// GuestPython is the variable of the environment that names the Python of the
// native engine's corpus, where the one on PATH has no pandas.
const GuestPython = "BRIDGE_TEST_PYTHON"

// TestAgent runs the corpus: programs as agents write them, good and bad, one
// after the other in one session, with stand-ins for the servers that they
// call. Each file of testdata/agent says what was asked, the code of one or
// more runs, NAME.py, and the text of each result, NAME.want.
//
// In a result a line "…" stands for any lines, and a line that begins with "~"
// is a regular expression. The numbers of runs, and the marks that some
// versions of Python put below a line, do not count. A line "needs: pandas"
// above the files names the modules, or the version of Python, without which a
// program is left out.
func TestAgent(t *testing.T) {
	files, err := filepath.Glob("testdata/agent/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs: ", err)
	}
	forEachEngine(t, func(t *testing.T, engine sandbox.Engine) {
		a := dialCorpus(t, engine)
		present, err := a.RunPython("import importlib.util as u, sys\n" +
			"[f'3.{n}' for n in range(sys.version_info[1] + 1)] + [m for m in ('pandas', 'numpy', 'matplotlib', 'tqdm', 'rich') if u.find_spec(m)]")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				program, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, need := range needs(string(program.Comment)) {
					if !strings.Contains(present, "'"+need+"'") {
						t.Logf("not run: the engine's Python has no %s", need)
						return
					}
				}
				runProgram(t, a, file, program)
			})
		}
	})
}

// dialCorpus connects to a bridge whose servers are the stand-ins of the corpus.
func dialCorpus(t *testing.T, engine sandbox.Engine) *project.Agent {
	var policy strings.Builder
	policy.WriteString("profiles: corpus: {rootful: true, timeout: {default: 60, max: 60}, servers: [_]: tools: [_]: {}}\n")
	servers, err := filepath.Glob("testdata/agent/servers/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range servers {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		fmt.Fprintf(&policy, "servers: %s: {command: \"standin\", args: [%q, \"/dev/null\"]}\nprofiles: corpus: servers: %[1]s: {}\n", name, path)
	}
	if python := os.Getenv(GuestPython); python != "" && engine.Name() == "native" {
		fmt.Fprintf(&policy, "profiles: corpus: python: %q\n", python)
	}
	file := filepath.Join(t.TempDir(), "policy.cue")
	if err := os.WriteFile(file, []byte(policy.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bridge", "--profile", "corpus", "--policies", file)
	cmd.Env = append(os.Environ(), "MCP_BRIDGE_RUNTIME="+engine.Name(), "XDG_STATE_HOME="+t.TempDir())
	return project.Dial(t, cmd)
}

// needs gives the words after "needs:" of a program's comment.
func needs(comment string) []string {
	_, list, _ := strings.Cut(comment, "\nneeds:")
	list, _, _ = strings.Cut(list, "\n")
	return strings.Fields(list)
}

// runProgram runs the runs of one file and compares what comes of them. With
// UPDATE_SCRIPTS set it writes what came into the file.
func runProgram(t *testing.T, a *project.Agent, path string, program *txtar.Archive) {
	changed := false
	for _, file := range program.Files {
		base, is := strings.CutSuffix(file.Name, ".py")
		if !is {
			continue
		}
		got, err := a.RunPython(string(file.Data))
		if err != nil {
			t.Fatal(err)
		}
		got = plain(got)
		i := slices.IndexFunc(program.Files, func(f txtar.File) bool { return f.Name == base+".want" })
		if i < 0 {
			t.Fatalf("%s has no %s.want", path, base)
		}
		want := plain(string(program.Files[i].Data))
		if like(strings.Split(got, "\n"), strings.Split(want, "\n")) {
			continue
		}
		if os.Getenv("UPDATE_SCRIPTS") != "" {
			program.Files[i].Data, changed = []byte(got), true
			continue
		}
		t.Fatalf("%s came to:\n%s\nwant:\n%s", file.Name, got, want)
	}
	if changed {
		if err := os.WriteFile(path, txtar.Format(program), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	runNumber = regexp.MustCompile(`<run \d+>`)
	marks     = regexp.MustCompile(`(?m)^[ |]*[~^][ ~^]*\n`)
)

// plain takes out of a text what does not count.
func plain(text string) string {
	return marks.ReplaceAllString(runNumber.ReplaceAllString(text, "<run>"), "")
}

// like tells whether lines are as they are wanted.
func like(got, want []string) bool {
	for len(want) > 0 {
		if want[0] == "…" {
			for i := range len(got) + 1 {
				if like(got[i:], want[1:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 {
			return false
		}
		if pattern, is := strings.CutPrefix(want[0], "~"); is {
			if !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got[0]) {
				return false
			}
		} else if got[0] != want[0] {
			return false
		}
		got, want = got[1:], want[1:]
	}
	return len(got) == 0
}
