package policy

import (
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
)

// policy is what the policy says, in which there is no mistake.
func (l *loader) policy() *Policy {
	p := &Policy{profiles: map[string]*Profile{}}
	servers := l.servers()
	for name, v := range fields(l.full, "profiles") {
		p.profiles[name] = l.profile(name, v, servers)
	}
	return p
}

// servers are the servers that the policy defines.
func (l *loader) servers() map[string]Server {
	servers := map[string]Server{}
	for name, v := range fields(l.full, "servers") {
		s := Server{
			Name:         name,
			Description:  text(v, "description"),
			Command:      text(v, "command"),
			Cwd:          text(v, "cwd"),
			Env:          map[string]string{},
			StartTimeout: seconds(v, "timeout", "start"),
			CallTimeout:  seconds(v, "timeout", "call"),
		}
		if args, err := lookup(v, "args").List(); err == nil {
			for args.Next() {
				s.Args = append(s.Args, text(args.Value()))
			}
		}
		for key, value := range fields(v, "env") {
			s.Env[key] = text(value)
		}
		servers[name] = s
	}
	return servers
}

// profile is the profile of that name, of which v is what the policy says with
// the defaults.
func (l *loader) profile(name string, v cue.Value, servers map[string]Server) *Profile {
	p := &Profile{
		Name:        name,
		Description: text(v, "description"),
		Engine:      text(v, "engine"),
		Python:      text(v, "python"),
		Limits: Limits{
			Memory:    number(v, "limits", "memory"),
			CPUs:      fraction(v, "limits", "cpus"),
			PIDs:      number(v, "limits", "pids"),
			Files:     number(v, "limits", "files"),
			Tmp:       number(v, "limits", "tmp"),
			Workspace: number(v, "limits", "workspace"),
			Shm:       number(v, "limits", "shm"),
		},
		Timeout:  timeout(v),
		Output:   int(number(v, "output")),
		Parallel: int(number(v, "parallel")),
		Session:  Session{Persist: truth(v, "session", "persist"), Idle: seconds(v, "session", "idle")},
		mounts:   map[string]*mount{},
	}
	for name := range fields(v, "servers") {
		p.Servers = append(p.Servers, servers[name])
		p.mounts[name] = l.mount(lookup(l.user, "profiles", p.Name, "servers", name))
	}
	slices.SortFunc(p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// timeout is the profile's timeout. A default that only defaults.cue gives
// yields to a smaller maximum.
func timeout(v cue.Value) Timeout {
	t := Timeout{Default: seconds(v, "timeout", "default"), Max: seconds(v, "timeout", "max")}
	t.Default = min(t.Default, t.Max)
	return t
}

// The values below are there and valid, or optional: the schema has been held
// against them.

func text(v cue.Value, path ...string) string {
	s, _ := lookup(v, path...).String()
	return s
}

func number(v cue.Value, path ...string) int64 {
	n, _ := lookup(v, path...).Int64()
	return n
}

func fraction(v cue.Value, path ...string) float64 {
	n, _ := lookup(v, path...).Float64()
	return n
}

func seconds(v cue.Value, path ...string) time.Duration {
	return time.Duration(fraction(v, path...) * float64(time.Second))
}

func truth(v cue.Value, path ...string) bool {
	b, _ := lookup(v, path...).Bool()
	return b
}
