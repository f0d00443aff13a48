package policy

import (
	"path"
	"slices"
	"strings"
	"time"

	"bridge/definition"

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
	v := s.value()
	if !v.Exists() {
		return ""
	}
	t, _ := v.String()
	return t
}

// elements are those of a list.
func (s setting) elements() []setting {
	v := s.value()
	if !v.Exists() {
		return nil
	}
	it, err := v.List()
	if err != nil {
		return nil
	}
	var list []setting
	for it.Next() {
		list = append(list, setting{written: it.Value()})
	}
	return list
}

func (s setting) texts() []string {
	var texts []string
	for _, e := range s.elements() {
		texts = append(texts, e.text())
	}
	return texts
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
	v := s.value()
	if !v.Exists() {
		return false
	}
	b, _ := v.Bool()
	return b
}

// policy is what the policy says, in which there is no mistake.
func (e *evaluator) policy() *Policy {
	p := &Policy{profiles: map[string]*Profile{}}
	servers := map[string]definition.Server{}
	all := setting{e.user, e.defaults}
	for name := range fields(e.user, "servers") {
		s := all.field("servers").field(name)
		e.defined[name] = !s.field("disabled").truth()
		servers[name] = server(name, s)
	}
	for name := range fields(e.user, "profiles") {
		p.profiles[name] = e.profile(name, all.field("profiles").field(name), servers)
	}
	return p
}

func server(name string, s setting) definition.Server {
	timeout := s.field("timeout")
	server := definition.Server{
		Name:         name,
		Description:  s.field("description").text(),
		Command:      s.field("command").text(),
		Args:         s.field("args").texts(),
		Cwd:          s.field("cwd").text(),
		Env:          texts(s.written, "env"),
		EnvFile:      s.field("envFile").text(),
		URL:          s.field("url").text(),
		StartTimeout: timeout.field("start").seconds(),
		CallTimeout:  timeout.field("call").seconds(),
	}
	if server.URL != "" {
		server.Headers = texts(s.written, "headers")
		server.Transport = s.field("transport").text()
	}
	return server
}

// texts are the fields of v's field of that name, each a text.
func texts(v cue.Value, name string) map[string]string {
	m := map[string]string{}
	for key, value := range fields(v, name) {
		m[key] = setting{written: value}.text()
	}
	return m
}

func (e *evaluator) profile(name string, s setting, servers map[string]definition.Server) *Profile {
	limits, timeout, session := s.field("limits"), s.field("timeout"), s.field("session")
	audit, memory := s.field("audit"), s.field("memory")
	p := &Profile{
		Name:        name,
		Description: s.field("description").text(),
		Engine:      s.field("engine").text(),
		Python:      s.field("python").text(),
		Image:       s.field("image").text(),
		Pull:        s.field("pull").text() == "missing",
		Packages:    s.field("packages").texts(),
		Require:     s.field("requirements").text(),
		Rootful:     s.field("rootful").truth(),
		User:        withGroup(s.field("user").text()),
		Security:    s.field("security").texts(),
		Mounts:      folders(s.field("mounts")),
		Limits: Limits{
			Memory:    limits.field("memory").number(),
			CPUs:      limits.field("cpus").fraction(),
			PIDs:      limits.field("pids").number(),
			Files:     limits.field("files").number(),
			Tmp:       limits.field("tmp").number(),
			Workspace: limits.field("workspace").number(),
			Shm:       limits.field("shm").number(),
			Enforced:  limits.field("enforced").truth(),
		},
		Timeout:  Timeout{Default: timeout.field("default").seconds(), Max: timeout.field("max").seconds()},
		Output:   int(s.field("output").number()),
		Parallel: int(s.field("parallel").number()),
		Session:  Session{Persist: session.field("persist").truth(), Idle: session.field("idle").seconds()},
		Budget:   e.budget(s),
		Audit:    Audit{audit.field("enabled").truth(), audit.field("required").truth(), audit.field("arguments").truth(), audit.field("code").truth(), audit.field("bytes").number(), audit.written.Exists()},
		Memory:   Memory{memory.field("mode").text(), memory.field("bytes").number(), int(memory.field("keys").number())},
		State:    s.field("state").text(),
		Format:   s.field("format").text(),
		Discover: s.field("discover").texts(),
		allow:    map[string]*mount{},
	}
	p.from = &origin{e, s, e.posOf(s.written)}
	// The usual default yields to a smaller maximum.
	p.Timeout.Default = min(p.Timeout.Default, p.Timeout.Max)

	for mounted, v := range fields(s.written, "servers") {
		if e.defined[mounted] {
			p.Servers = append(p.Servers, servers[mounted])
			p.allow[mounted] = e.mount(mounted, v)
		}
	}
	slices.SortFunc(p.Servers, byName)
	if len(p.Discover) > 0 {
		p.finder = &finder{e, lookup(s.written, "servers")}
	}
	return p
}

func byName(a, b definition.Server) int { return strings.Compare(a.Name, b.Name) }

func folders(s setting) []Folder {
	var list []Folder
	for _, e := range s.elements() {
		list = append(list, Folder{
			Source:   path.Clean(e.field("source").text()),
			Target:   path.Clean(e.field("target").text()),
			Writable: e.field("writable").truth(),
			Relabel:  e.field("relabel").truth(),
		})
	}
	return list
}

// withGroup is a user with a group, which container engines would otherwise
// take to be root's.
func withGroup(user string) string {
	if strings.Contains(user, ":") {
		return user
	}
	return user + ":" + user
}
