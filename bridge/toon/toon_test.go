package toon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bridge/harness/project"
)

// TestFixtures holds Marshal against the specification's own examples: all of
// those that have no options, or have the default ones.
func TestFixtures(t *testing.T) {
	const folder = "../../testdata/npm/node_modules/@toon-format/spec/tests/fixtures/encode"
	files, err := filepath.Glob(folder + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		project.Skip(t, "the specification's examples are absent: make peers")
	}
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var fixture struct {
			Tests []struct {
				Name     string
				Input    json.RawMessage
				Expected string
				Options  struct {
					Delimiter  string
					KeyFolding string
					Indent     int
				}
			}
		}
		if err := json.Unmarshal(text, &fixture); err != nil {
			t.Fatal(err)
		}
		for _, c := range fixture.Tests {
			o := c.Options
			if o.Delimiter != "" && o.Delimiter != "," || o.KeyFolding == "safe" || o.Indent != 0 && o.Indent != 2 {
				continue
			}
			ran++
			t.Run(filepath.Base(file)+"/"+c.Name, func(t *testing.T) {
				if got, err := Marshal(c.Input); err != nil || got != c.Expected {
					t.Errorf("%s\ngot  %q, %v\nwant %q", c.Input, got, err, c.Expected)
				}
			})
		}
	}
	if ran < 100 {
		t.Errorf("only %d of the specification's examples were run", ran)
	}
}

// TestNumber has those that the examples leave out: digits are not lost, and
// none makes work of its size.
func TestNumber(t *testing.T) {
	for in, want := range map[string]string{
		"1.50":                     "1.5",
		"1e3":                      "1000",
		"12345678901234567890":     "12345678901234567890",
		"0.1234567890123456789":    "0.1234567890123456789",
		"1E-7":                     "1e-7",
		"123e19":                   "123e+19",
		"-0.0":                     "0",
		"1e999999999":              "1e+999999999",
		"1e99999999999999999999":   "1e99999999999999999999",
		"1234567890123456789012.5": "1234567890123456789012.5",
	} {
		if got, err := Marshal(json.Number(in)); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}
