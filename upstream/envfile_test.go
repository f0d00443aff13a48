package upstream

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestEnvFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".env")
	for text, want := range map[string]map[string]string{
		"":                       {},
		"# none\n\n":             {},
		"A=1\nB = two words \n":  {"A": "1", "B": "two words"},
		"export A=1 # one":       {"A": "1"},
		"A=a#b":                  {"A": "a#b"},
		`A="x \"y\" \n # z" # c`: {"A": "x \"y\" \n # z"},
		`A='x \n'`:               {"A": `x \n`},
		`A="open`:                {"A": `"open`},
		"A=\r\nB=$C\r\n":         {"A": "", "B": "$C"},
		"A=1\nA=2":               {"A": "2"},
		"\ufeffA=1":              {"A": "1"},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readEnvFile(file); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if err := os.WriteFile(file, []byte("A=1\ns3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	def := toyDefinition(t)
	def.EnvFile = file
	err := refuse(t, open(t, def), "echo", `{}`)
	if want := `starting server "toy": its envFile "` + file + `": line 2 is not NAME=value`; err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err := os.WriteFile(file, []byte("A=file\nB=file"), 0o600); err != nil {
		t.Fatal(err)
	}
	def.Env["B"] = "env"
	set := open(t, def)
	for name, want := range map[string]string{"A": "A=file", "B": "B=env"} {
		if got := call(t, set, "env", `{"name":"`+name+`"}`); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
