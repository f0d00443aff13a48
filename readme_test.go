package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"bridge/policy"
)

// blocks returns what README.md has between ```language and ```.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	return blocksOf(t, "README.md", language)
}

func blocksOf(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var block *strings.Builder
	opened := ""
	for line := range strings.Lines(string(text)) {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && block == nil:
			opened, block = strings.TrimSpace(fence), new(strings.Builder)
		case isFence:
			if opened == language {
				found = append(found, block.String())
			}
			block = nil
		case block != nil:
			block.WriteString(line)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return found
}

// TestReadmePolicy vets the policies that the README shows, and sees that the
// denial beside them is the one that they give.
func TestReadmePolicy(t *testing.T) {
	policies, denial := blocks(t, "cue"), strings.Join(blocks(t, ""), "")
	t.Chdir(t.TempDir())
	seen := false
	for _, text := range policies {
		if err := os.WriteFile("reader.cue", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := policy.Load([]string{"reader.cue"})
		if err != nil {
			t.Fatal(err)
		}
		if profile, err := p.Profile("issues"); err == nil {
			issue := json.RawMessage(`{"owner": "acme", "repo": "site", "title": "A bug"}`)
			if _, err := profile.CheckCall("github", "create_issue", issue); err != nil {
				t.Error(err)
			}
		}
		profile, err := p.Profile("reader")
		if err != nil {
			continue // another one, in which all that can be wrong is its grammar
		}
		seen = true
		if _, err := profile.CheckCall("files", "read_text_file", nil); err != nil {
			t.Error(err)
		}
		_, err = profile.CheckCall("files", "write_file", nil)
		if denied := new(*policy.Denial); !errors.As(err, denied) {
			t.Fatalf("files.write_file: %v, not a denial", err)
		}
		if !strings.Contains(denial, err.Error()+"\n") {
			t.Errorf("README.md does not show the denial as it is:\n%v", err)
		}
	}
	if !seen {
		t.Error("README.md shows no profile reader")
	}
}

// TestReadmeConfigs parses the configurations that are to be pasted.
func TestReadmeConfigs(t *testing.T) {
	for _, text := range blocksOf(t, "docs/connect.md", "json") {
		if !json.Valid([]byte(text)) {
			t.Errorf("not JSON:\n%s", text)
		}
	}
}
