package enginetest

import (
	"testing"

	"bridge/sandbox"
)

// program is what sandboxes are made ahead for.
var program = []string{"-I", "-c", "print('up')"}

// prepared makes a sandbox ahead: the next start of the same spec takes it, any
// other start does not, and it ends with the engine.
func (s Subject) prepared(t *testing.T) {
	e := s.New(t)
	p, can := e.(sandbox.Preparer)
	if !can {
		t.Log("the engine has no need of it")
		return
	}
	prepare := func() string {
		t.Helper()
		if err := p.Prepare(t.Context(), s.Spec, program); err != nil {
			t.Fatal(err)
		}
		all := s.Left(t, e)
		if len(all) != 1 {
			t.Fatalf("prepared: %v, want one", all)
		}
		return all[0]
	}
	works := func(spec sandbox.Spec) sandbox.Sandbox {
		t.Helper()
		b := Start(t, e, spec, program[2])
		if out, stderr, exit := Collect(t, b); out != "up\n" || exit != (sandbox.Exit{}) {
			t.Errorf("%q, ended with %+v\n%s", out, exit, stderr)
		}
		return b
	}
	ahead := prepare()
	if again := prepare(); again != ahead {
		t.Errorf("%s was prepared in the place of %s", again, ahead)
	}
	works(s.with(sandbox.Limits{PIDs: 33}))
	Within(t, func() []string { return without(s.Left(t, e), ahead) })
	if left := s.Left(t, e); len(left) != 1 {
		t.Errorf("a start of another spec has taken what was prepared: %v", left)
	}
	works(s.Spec)
	Within(t, func() []string { return s.Left(t, e) })
	works(s.Spec) // there is none any more

	prepare()
	mounted := s.Spec
	mounted.Mounts = []sandbox.Mount{{Source: OpenDir(t, 0o755), Target: "/data"}}
	if err := p.Prepare(t.Context(), mounted, program); err != nil || len(s.Left(t, e)) != 1 {
		t.Errorf("prepared with a folder of the host: %v", err)
	}
	e.Close()
	if left := s.Left(t, e); len(left) > 0 {
		t.Errorf("left by a closed engine: %v", left)
	}
	if err := p.Prepare(t.Context(), s.Spec, program); err != nil || len(s.Left(t, e)) > 0 {
		t.Errorf("prepared by a closed engine: %v", err)
	}
}

func without(all []string, one string) []string {
	var others []string
	for _, name := range all {
		if name != one {
			others = append(others, name)
		}
	}
	return others
}
