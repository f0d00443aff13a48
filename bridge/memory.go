package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
)

// projects is where the guest sees what is kept for its profile.
const projects = "/projects"

// kept answers what code asks of its memory and its saved tools.
type kept struct {
	profile *policy.Profile
	project *store.Project // nil: nothing can be kept
	log     *slog.Logger
	slots   chan struct{} // one for each request that may be at work at once
}

// newKept opens what is kept for a profile. A store that is nil, or that cannot
// be used, keeps nothing: code that asks for something is told.
func newKept(p *policy.Profile, s *store.Store, log *slog.Logger) *kept {
	k := &kept{profile: p, log: log, slots: make(chan struct{}, 2)}
	if s == nil || !k.readable() {
		return k
	}
	project, err := s.Project(p.Name)
	if err != nil {
		log.Warn("code can keep nothing for later sessions", "err", err)
		return k
	}
	k.project = project
	return k
}

func (k *kept) readable() bool {
	return k.profile.Memory.Mode == "on" || k.profile.Memory.Mode == "readOnly"
}

// show lets the guest see the files, read-only, where the engine can. No
// policy can have something else in that place.
func (k *kept) show(spec sandbox.Spec) sandbox.Spec {
	if k.project == nil {
		return spec
	}
	spec.Mounts = append(spec.Mounts[:len(spec.Mounts):len(spec.Mounts)],
		sandbox.Mount{Source: k.project.Dir(), Target: projects, Optional: true, Relabel: true})
	return spec
}

// maxKey bounds a key, in bytes.
const maxKey = 1024

// serve answers one request.
func (k *kept) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var p struct {
		Key      string          `json:"key"`
		Value    json.RawMessage `json:"value"`
		Metadata json.RawMessage `json:"metadata"`
		Bare     bool            `json:"bare"` // the memory without its value
		Source   string          `json:"source"`
		Version  *string         `json:"version"` // that has to be there still; nil: whatever is there
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, refuse("invalid", "malformed parameters of %q", clip(method))
	}
	if len(p.Key) > maxKey {
		return nil, refuse("invalid", "a key of %d bytes; at most %d", len(p.Key), maxKey)
	}
	if err := k.usable(strings.HasSuffix(method, ".load") || strings.HasSuffix(method, ".list")); err != nil {
		if method == "tools.load" {
			return store.Tools{}, nil // as if there were none
		}
		return nil, err
	}
	if most := sandbox.MaxFrame - maxKey*6 - 1024; len(p.Value)+len(p.Metadata) > most {
		return nil, refuse("invalid", "value and metadata of %d bytes as JSON; at most %d can be loaded again", len(p.Value)+len(p.Metadata), most)
	}
	select {
	case k.slots <- struct{}{}:
		// Held until the session has room for the answer, which bounds the
		// values that wait here.
		context.AfterFunc(ctx, func() { <-k.slots })
	case <-ctx.Done():
		return nil, k.word(ctx.Err())
	}
	switch method {
	case "memory.load":
		m, err := k.project.Load(p.Key)
		return loaded(m, p.Bare), k.word(err)
	case "memory.save":
		if p.Value == nil {
			return nil, refuse("invalid", "no value to save")
		}
		m, ok, err := k.project.Save(ctx, store.Memory{Key: p.Key, Value: p.Value, Metadata: p.Metadata}, p.Version, k.bounds(), time.Now())
		if err != nil || ok {
			return map[string]any{"saved": true}, k.word(err)
		}
		return loaded(m, false), nil
	case "memory.delete":
		ok, err := k.project.Delete(ctx, p.Key)
		return map[string]any{"deleted": ok}, k.word(err)
	case "memory.list":
		list, err := k.project.List(ctx)
		return map[string]any{"memories": list}, k.word(err)
	case "tools.load":
		t, err := k.project.Tools()
		return t, k.word(err)
	case "tools.save":
		if p.Version == nil {
			return nil, refuse("invalid", "the saved tools can only be replaced by who knows them")
		}
		t, ok, err := k.project.SaveTools(ctx, store.Tools{Source: p.Source, Version: *p.Version}, k.bounds())
		return map[string]any{"saved": ok, "source": t.Source, "version": t.Version}, k.word(err)
	default:
		return nil, refuse("invalid", "unknown request %q", clip(method))
	}
}

// loaded is a memory as it is sent, or that there is none.
func loaded(m *store.Memory, bare bool) any {
	if m == nil {
		return map[string]any{"memory": nil, "version": ""}
	}
	version := m.Version()
	if bare {
		m.Value = nil
	}
	return map[string]any{"memory": m, "version": version}
}

func (k *kept) bounds() store.Bounds {
	return store.Bounds{Bytes: k.profile.Memory.Bytes, Keys: k.profile.Memory.Keys}
}

// usable refuses what the profile does not allow.
func (k *kept) usable(reads bool) error {
	switch {
	case !k.readable():
		return refuse("policy", "memory is off in profile %q", k.profile.Name)
	case k.project == nil:
		return refuse("memory", "the bridge's folder of state cannot be used; whoever runs the bridge finds the reason in its log")
	case !reads && k.profile.Memory.Mode != "on":
		return refuse("policy", "memory is read-only in profile %q; nothing was changed", k.profile.Name)
	}
	return nil
}

// word makes an error of the store one that the guest may see: paths of the
// host go to the log.
func (k *kept) word(err error) error {
	var full *store.FullError
	var corrupt *store.CorruptError
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return refuse("policy", "memory of profile %q is full: %s; nothing was saved", k.profile.Name, full.What)
	case errors.As(err, &corrupt):
		k.log.Warn("a file of the memory is corrupt", "file", corrupt.Path, "err", corrupt.Why)
		return refuse("memory", "%s is corrupt: %s", path.Join(projects, corrupt.File), corrupt.Why)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refuse("memory", "the run was stopped; nothing was changed")
	}
	k.log.Error("the memory cannot be used", "err", err)
	if errors.As(err, &file) {
		err = file.Err
	}
	return refuse("memory", "the memory cannot be used: %v", err)
}
