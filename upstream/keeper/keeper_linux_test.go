package keeper

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestStatLinesAreReadWhateverTheName(t *testing.T) {
	for line, want := range map[string]string{
		"12 (sh) S 7 12 12 0":            "7 S true",
		"12 (a) b) (c 1 Z 9) R 8 12 0\n": "8 R true",
		"12 (sh) S":                      "0 \x00 false",
		"12 (sh) S x 1":                  "0 S false",
		"":                               "0 \x00 false",
	} {
		parent, state, ok := parseStat([]byte(line))
		if got := fmt.Sprintf("%d %c %v", parent, state, ok); got != want {
			t.Errorf("%q = %q, want %q", line, got, want)
		}
	}
}

// keep starts a keeper and gives the lines of its status, and control.
func keep(t *testing.T, instruction string) (lines *bufio.Scanner, control *os.File) {
	t.Helper()
	controlR, controlW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Name}, Env: []string{}, ExtraFiles: []*os.File{controlR, statusW}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	controlR.Close()
	statusW.Close()
	t.Cleanup(func() {
		controlW.Close()
		cmd.Wait()
		statusR.Close()
	})
	if _, err := controlW.WriteString(instruction); err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(statusR), controlW
}

func TestAKeeperTellsInWordsHowItsServerEnded(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{`{"Path":"/bin/sh","Args":["sh","-c","exit 5"]}`, "ended exit status 5"},
		{`{"Path":"/bin/sh","Args":["sh","-c","kill -SEGV $$"]}`, "ended signal: segmentation fault"},
		{`{"Path":"/no/such/program","Args":["x"]}`, "failed no such file or directory"},
		{`{"Path":`, "failed reading what to start: unexpected end of JSON input"},
	} {
		lines, _ := keep(t, test.spec+"\n")
		var last string
		for lines.Scan() {
			last = lines.Text()
		}
		if last != test.want {
			t.Errorf("%s: %q, want %q", test.spec, last, test.want)
		}
	}
}

func TestAKeeperWithNothingToDoEnds(t *testing.T) {
	lines, control := keep(t, "")
	control.Close()
	for lines.Scan() {
		t.Errorf("status %q", lines.Text())
	}
}

func TestAKeeperEndsItsServerWhenItIsLetGo(t *testing.T) {
	lines, control := keep(t, `{"Path":"/bin/sh","Args":["sh","-c","exec sleep 600"]}`+"\n")
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "started ") {
		t.Fatalf("status %q", lines.Text())
	}
	control.Close()
	if !lines.Scan() || lines.Text() != "ended signal: terminated" {
		t.Errorf("status %q", lines.Text())
	}
}
