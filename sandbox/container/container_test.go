package container

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
)

func TestUser(t *testing.T) {
	for given, want := range map[string]string{"": DefaultUser, "1000": "1000:1000", "1000:1001": "1000:1001"} {
		if got, err := User(sandbox.Spec{User: given}); got != want || err != nil {
			t.Errorf("user %q: %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"0:0", "1000:0", "0", "root:root", "1:2:3", "-1:5", "1:"} {
		want := fmt.Sprintf("user %q: must be a user and a group other than root's, by their numbers, such as 65534:65534", given)
		if _, err := User(sandbox.Spec{User: given}); err == nil || err.Error() != want {
			t.Errorf("user %q: %v", given, err)
		}
	}
}

// TestConfine adds to a sandbox's confinement, and never takes from it.
func TestConfine(t *testing.T) {
	c, err := Confine(sandbox.Spec{SecurityOpt: []string{"no-new-privileges", "label=type:own_t", "apparmor=own", "mask=/a:/b"}})
	if err != nil || len(c.Masked) != len(masked)+2 || strings.Join(c.Labels, " ") != "type:own_t" || c.AppArmor != "own" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, option := range []string{
		"seccomp=unconfined", "label=disable", "label=filetype:own_t", "label:disable", "apparmor=unconfined", "apparmor=", "no-new-privileges=false",
		"no-new-privileges:false", "systempaths=unconfined", "mask=x", "mask=/a:b", "",
	} {
		want := fmt.Sprintf("security option %q does not add to the sandbox's confinement; these do: label=…, apparmor=PROFILE, mask=PATHS", option)
		if _, err := Confine(sandbox.Spec{SecurityOpt: []string{option}}); err == nil || err.Error() != want {
			t.Errorf("option %q: %v", option, err)
		}
	}
}

func TestMounts(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	for _, c := range []struct {
		mount sandbox.Mount
		local bool
		want  string // the error, or the target
	}{
		{sandbox.Mount{Source: dir, Target: "/data/../given"}, true, "/given"},
		{sandbox.Mount{Source: gone, Target: "/given", Optional: true}, true, ""},
		{sandbox.Mount{Source: dir, Target: "/given", Optional: true}, false, ""},
		{sandbox.Mount{Source: gone, Target: "/given"}, false, "/given"},
		{sandbox.Mount{Source: gone, Target: "/given"}, true, fmt.Sprintf("mount %q is not on the host: no such file or directory; make it, or take it out of the profile's mounts", gone)},
		{sandbox.Mount{Source: dir, Target: "/workspace/"}, true, fmt.Sprintf("mount %q on %q: the sandbox has its own there; choose another target, such as /workspace/data", dir, "/workspace")},
		{sandbox.Mount{Source: dir, Target: "given"}, true, fmt.Sprintf("mount %q on %q: both must be absolute paths", dir, "given")},
		{sandbox.Mount{Source: "given", Target: "/given"}, false, `mount "given" on "/given": both must be absolute paths`},
	} {
		got := ""
		all, err := Mounts(sandbox.Spec{Mounts: []sandbox.Mount{c.mount}}, c.local)
		if err != nil {
			got = err.Error()
		} else if len(all) > 0 {
			got = all[0].Target
		}
		if got != c.want {
			t.Errorf("%+v, local %v: %q, want %q", c.mount, c.local, got, c.want)
		}
	}
}

// TestReleasedStream lets a writer go on without a reader, and keeps what there
// is room for.
func TestReleasedStream(t *testing.T) {
	s := NewStream()
	chunk := make([]byte, room)
	s.Write(chunk)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 10 {
			s.Write(chunk)
		}
		s.End(nil)
	}()
	s.Release()
	<-written
	all, err := io.ReadAll(s)
	if err != nil || len(all) != 4*room {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}
