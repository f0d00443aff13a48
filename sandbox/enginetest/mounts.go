package enginetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bridge/sandbox"
)

// mounts starts nothing with a folder that leads to other programs of the host,
// however deep and whether it may be written to, and nothing with such a file.
func (s Subject) mounts(t *testing.T) {
	e := s.New(t)
	dir := OpenDir(t, 0o755)
	made := func(name string, make func(path string) error) string {
		path := filepath.Join(dir, name, "a", "b", "way")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ways := map[string]string{
		"a socket": made("socket", func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		}),
		"a named pipe": made("pipe", func(path string) error { return exec.Command("mkfifo", path).Run() }),
	}
	if os.Geteuid() == 0 {
		ways["a device"] = made("device", func(path string) error { return exec.Command("mknod", path, "c", "1", "3").Run() })
	}
	for what, path := range ways {
		for _, source := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(filepath.Dir(path)))} {
			for _, writable := range []bool{false, true} {
				spec := s.Spec
				spec.Mounts = []sandbox.Mount{{Source: source, Target: "/data", Writable: writable}}
				b, err := e.Start(t.Context(), spec, []string{"-I", "-c", ""}, io.Discard)
				if err == nil {
					b.Kill()
					b.Wait()
				}
				want := fmt.Sprintf("mount %q: %q is %s, by which code could reach what is outside of the sandbox; remove it, or mount a folder without it", source, path, what)
				if err == nil || err.Error() != want {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
		}
	}
	// What leads there by name alone leads nowhere inside.
	linked := filepath.Join(dir, "linked")
	if err := os.Mkdir(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ways["a socket"], filepath.Join(linked, "way")); err != nil {
		t.Fatal(err)
	}
	spec := s.Spec
	spec.Mounts = []sandbox.Mount{{Source: linked, Target: "/data"}}
	b := Start(t, e, spec, "import os; print(os.listdir('/data'), os.path.exists('/data/way'))")
	if out, stderr, _ := Collect(t, b); out != "['way'] False\n" {
		t.Errorf("%q\n%s", out, stderr)
	}
}
