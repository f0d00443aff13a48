package container

import (
	"os/exec"
	"testing"
)

func TestGone(t *testing.T) {
	me, ok := parseOwner(NewOwner())
	if !ok || me.start == unknown || me.boot == unknown {
		t.Fatalf("%+v %v", me, ok)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	as := func(change func(*ownerName)) string {
		n := me
		change(&n)
		return n.String()
	}
	for _, c := range []struct {
		name, owner string
		gone        bool
	}{
		{"this process", me.String(), false},
		{"another part of it", NewOwner(), false},
		{"a process that has ended", as(func(n *ownerName) { n.pid = ended.Process.Pid }), true},
		{"another process of the same number", as(func(n *ownerName) { n.start = "1" }), true},
		{"a process before the machine was started", as(func(n *ownerName) { n.boot = "another" }), true},
		{"the same, in another pid namespace", as(func(n *ownerName) { n.boot, n.pids = "another", "elsewhere" }), true},
		{"a process of another machine", as(func(n *ownerName) { n.machine, n.boot = "elsewhere", "another" }), false},
		{"a process in another pid namespace", as(func(n *ownerName) { n.pids, n.pid = "elsewhere", ended.Process.Pid }), false},
		{"a process that was not to be told apart", as(func(n *ownerName) { n.pid, n.start = ended.Process.Pid, unknown }), false},
		{"nobody known", "x", false},
		{"nobody", "", false},
		{"no number", "a b c d e f", false},
	} {
		if gone := Gone(c.owner); gone != c.gone {
			t.Errorf("%s: gone is %v, want %v", c.name, gone, c.gone)
		}
	}
}
