package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var roomy = Bounds{Bytes: 16 << 20, Keys: 1000}

func newProject(t *testing.T) *Project {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Project("default")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// No two keys have one file, on no file system: not where case is ignored, nor
// where forms of Unicode are, nor where some names or characters are forbidden.
func TestFileNames(t *testing.T) {
	keys := []string{
		"", "a", "A", "a.b", "a/b", "a\\b", "../a", ".", "..", "con", "CON", "com1", "nul", "a ", " a", "a~", "\x00", "\xff", "\xfe",
		"\u00e9", "e\u0301", "\U0001F600", strings.Repeat("x", 40), strings.Repeat("x", 41), strings.Repeat("x", 42), strings.Repeat("X", 40),
		fileName("A"), strings.TrimSuffix(fileName("a/b"), "~"),
	}
	seen := map[string]string{}
	for _, key := range keys {
		name := fileName(key)
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%q and %q have the same file %s", key, other, name)
		}
		seen[strings.ToLower(name)] = key
		if name != strings.ToLower(name) || strings.ContainsAny(name, `/\:. `) || len(name) > 120 || name == "" {
			t.Errorf("%q: the name %q is not safe", key, name)
		}
	}
	if got := fileName("project_context-2"); got != "project_context-2" {
		t.Errorf("a plain key has the name %q", got)
	}
}

// Changes that are made on condition are never lost, however many make them.
func TestSaveOnCondition(t *testing.T) {
	p := newProject(t)
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			// As another process: it shares nothing but the files.
			own := &Project{dir: p.dir, lock: p.lock, local: make(chan struct{}, 1)}
			for range each {
				m, err := own.Load("n")
				for ok := false; !ok && err == nil; {
					n, version := 0, m.Version()
					if m != nil {
						n, _ = strconv.Atoi(string(m.Value))
					}
					next := Memory{Key: "n", Value: json.RawMessage(strconv.Itoa(n + 1))}
					m, ok, err = own.Save(t.Context(), next, &version, roomy, time.Now())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	m, err := p.Load("n")
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Value) != strconv.Itoa(writers*each) {
		t.Errorf("%d increments gave %s", writers*each, m.Value)
	}
}

// What would pass a bound is not saved, and what a killed bridge has left half
// written counts for nothing and goes away.
func TestBounds(t *testing.T) {
	p := newProject(t)
	left := filepath.Join(p.memory(), partial+"123")
	if err := os.WriteFile(left, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	save := func(key, value string, b Bounds) error {
		_, _, err := p.Save(t.Context(), Memory{Key: key, Value: json.RawMessage(value)}, nil, b, time.Now())
		return err
	}
	small := Bounds{Bytes: 400, Keys: 2}
	for _, key := range []string{"a", "b", "a"} {
		if err := save(key, "1", small); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left is still there: %v", err)
	}
	var full *FullError
	if err := save("c", "1", small); !errors.As(err, &full) || full.What != "there are 2 keys already, of at most 2" {
		t.Errorf("a third key: %v", err)
	}
	if err := save("a", `"`+strings.Repeat("x", 400)+`"`, small); !errors.As(err, &full) {
		t.Errorf("a large value: %v", err)
	}
	if _, ok, err := p.SaveTools(t.Context(), Tools{Source: strings.Repeat("#", 300)}, small); ok || !errors.As(err, &full) {
		t.Errorf("large tools: %v", err)
	}
	if m, err := p.Load("a"); err != nil || string(m.Value) != "1" {
		t.Errorf("a is %v, %v", m, err)
	}
}

// A file that is not a memory is an error that names it, for whoever reads it; it
// can be deleted and replaced.
func TestCorrupt(t *testing.T) {
	p := newProject(t)
	good := `{"key":"k","value":1,"metadata":{},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`
	for _, text := range []string{"", "{", "null", "[]", `{"key":"k"}`, strings.Replace(good, `"k"`, `"l"`, 1), strings.Replace(good, "2026", "20x6", 1)} {
		if err := os.WriteFile(filepath.Join(p.memory(), "k.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := p.Load("k"); !errors.As(err, &corrupt) || corrupt.File != "memory/k.json" {
			t.Errorf("%s: Load: %v", text, err)
		}
		if _, err := p.List(t.Context()); !errors.As(err, &corrupt) {
			t.Errorf("%s: List: %v", text, err)
		}
		none := ""
		if _, ok, err := p.Save(t.Context(), Memory{Key: "k", Value: json.RawMessage("2")}, &none, roomy, time.Now()); ok || !errors.As(err, &corrupt) {
			t.Errorf("%s: Save on condition: %v", text, err)
		}
		if ok, err := p.Delete(t.Context(), "k"); !ok || err != nil {
			t.Errorf("%s: Delete: %v, %v", text, ok, err)
		}
	}
}

// Several bridges share a log, and each line is whole.
func TestLogIsShared(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			l, err := s.Log(now, 1<<30)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 200 {
				if err := l.Append(now, map[string]string{"n": fmt.Sprint(w, i), "text": strings.Repeat("<x>", 3000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	path := filepath.Join(s.root, "audit", "2026-03-01.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 1600 {
		t.Errorf("%d lines, want 1600", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatalf("a broken line: %.80s", line)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log has the mode %v (%v), want 0600", info.Mode(), err)
	}
}

// Several bridges fill the log together, after a machine that has stopped in the
// middle of a line: it never has more than it may, no line of what is there is
// broken, and each bridge's lines are there one after the other, up to its last.
func TestLogIsBounded(t *testing.T) {
	const most, writers = 1 << 20, 4
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	dir := filepath.Join(s.root, "audit")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "2026-03-01.jsonl")
	if err := errors.Join(os.WriteFile(torn, []byte(`{"w":0,"n"`), 0o600), os.Chtimes(torn, now, now)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	type line struct {
		W, N int
		Text string
	}
	var wg sync.WaitGroup
	var begun atomic.Int64 // lines of all, so that all end together
	var wrote [writers]int
	var logs [writers]*Log
	for w := range writers {
		l, err := s.Log(now, most)
		if err != nil {
			t.Fatal(err)
		}
		logs[w] = l
		wg.Go(func() {
			for ; begun.Add(1) <= 6000; wrote[w]++ {
				if err := l.Append(now, line{w, wrote[w], strings.Repeat("x", 900)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// The machine may have let one of them wait while the others filled the log.
	for w, l := range logs {
		if err := l.Append(now, line{w, wrote[w], "the last"}); err != nil {
			t.Error(err)
		}
		wrote[w]++
	}
	files, err := (&Log{dir: dir}).files()
	if err != nil {
		t.Fatal(err)
	}
	sum, last := 0, map[int]int{}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum += len(data)
		for text := range strings.Lines(string(data)) {
			var l line
			if text == "\n" {
				continue // where a file was moved away before what ended its torn line
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%s: a broken line: %q", name, text)
			}
			if before, ok := last[l.W]; ok && l.N != before+1 {
				t.Errorf("%s: line %d of writer %d comes after %d", name, l.N, l.W, before)
			}
			last[l.W] = l.N
		}
	}
	if sum > most || sum < most/2 {
		t.Errorf("the log has %d bytes, and may have %d", sum, most)
	}
	for w, n := range wrote {
		if last[w] != n-1 {
			t.Errorf("the last line of writer %d is %d, want %d", w, last[w], n-1)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}

// What is written to a pipe or a device is not kept: it is not an audit log.
func TestLogIsAFile(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	l, err := s.Log(now, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.root, "audit", "2026-12-01.jsonl")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Skipf("no mkfifo: %v: %s", err, out)
	}
	for _, err := range []error{l.Append(now, "a record"), second(s.Log(now, 1<<20))} {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("the error is %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
