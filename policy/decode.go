package policy

import (
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
)

// A setting is what the policy says of something, and what holds where it does
// not. The schema has been held against both.
type setting struct{ written, usual cue.Value }

// field is the setting in s with that name.
func (s setting) field(name string) setting {
	return setting{lookup(s.written, name), of(s.usual, name)}
}

// value is what holds. A policy can also leave a choice, such as <=1Gi.
func (s setting) value() cue.Value {
	if !s.written.Exists() {
		return s.usual
	}
	if v, _ := s.written.Default(); v.IsConcrete() || !s.usual.Exists() {
		return v
	}
	return s.written.Unify(s.usual)
}

func (s setting) text() string {
	t, _ := s.value().String()
	return t
}

func (s setting) number() int64 {
	n, _ := s.value().Int64()
	return n
}

func (s setting) fraction() float64 {
	n, _ := s.value().Float64()
	return n
}

func (s setting) seconds() time.Duration {
	return time.Duration(s.fraction() * float64(time.Second))
}

func (s setting) truth() bool {
	b, _ := s.value().Bool()
	return b
}

// policy is what the policy says, in which there is no mistake.
func (l *loader) policy() *Policy {
	p := &Policy{profiles: map[string]*Profile{}}
	servers := map[string]Server{}
	all := setting{l.user, l.defaults}
	for name := range fields(l.user, "servers") {
		servers[name] = server(name, all.field("servers").field(name))
	}
	for name := range fields(l.user, "profiles") {
		p.profiles[name] = l.profile(name, all.field("profiles").field(name), servers)
	}
	return p
}

func server(name string, s setting) Server {
	timeout := s.field("timeout")
	server := Server{
		Name:         name,
		Description:  s.field("description").text(),
		Command:      s.field("command").text(),
		Cwd:          s.field("cwd").text(),
		Env:          map[string]string{},
		StartTimeout: timeout.field("start").seconds(),
		CallTimeout:  timeout.field("call").seconds(),
	}
	if args, err := lookup(s.written, "args").List(); err == nil {
		for args.Next() {
			server.Args = append(server.Args, setting{written: args.Value()}.text())
		}
	}
	for key, value := range fields(s.written, "env") {
		server.Env[key] = setting{written: value}.text()
	}
	return server
}

func (l *loader) profile(name string, s setting, servers map[string]Server) *Profile {
	limits, timeout, session := s.field("limits"), s.field("timeout"), s.field("session")
	p := &Profile{
		Name:        name,
		Description: s.field("description").text(),
		Engine:      s.field("engine").text(),
		Python:      s.field("python").text(),
		Limits: Limits{
			Memory:    limits.field("memory").number(),
			CPUs:      limits.field("cpus").fraction(),
			PIDs:      limits.field("pids").number(),
			Files:     limits.field("files").number(),
			Tmp:       limits.field("tmp").number(),
			Workspace: limits.field("workspace").number(),
			Shm:       limits.field("shm").number(),
		},
		Timeout:  Timeout{Default: timeout.field("default").seconds(), Max: timeout.field("max").seconds()},
		Output:   int(s.field("output").number()),
		Parallel: int(s.field("parallel").number()),
		Session:  Session{Persist: session.field("persist").truth(), Idle: session.field("idle").seconds()},
		mounts:   map[string]*mount{},
	}
	// The usual default yields to a smaller maximum.
	p.Timeout.Default = min(p.Timeout.Default, p.Timeout.Max)

	for mounted, v := range fields(s.written, "servers") {
		p.Servers = append(p.Servers, servers[mounted])
		p.mounts[mounted] = l.mount(v)
	}
	slices.SortFunc(p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return p
}
