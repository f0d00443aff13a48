package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
)

// projects is where the guest sees the files of its memory.
const projects = "/projects"

// memory answers what code asks about its memory and its saved tools.
type memory struct {
	profile *policy.Profile
	project *store.Project // nil: there is no memory
	log     *slog.Logger
	slots   chan struct{} // one for each request that may be served at once
}

// newMemory opens the memory of a profile. Without a store that can be used,
// requests are refused.
func newMemory(p *policy.Profile, s *store.Store, log *slog.Logger) *memory {
	k := &memory{profile: p, log: log, slots: make(chan struct{}, 2)}
	if s == nil || !k.readable() {
		return k
	}
	project, err := s.Project(p.Name)
	if err != nil {
		log.Warn("the memory cannot be used", "err", err)
		return k
	}
	k.project = project
	return k
}

func (k *memory) readable() bool {
	return k.profile.Memory.Mode == "on" || k.profile.Memory.Mode == "readOnly"
}

// show mounts the files, read-only, where the engine can. A policy cannot mount
// anything else there.
func (k *memory) show(spec sandbox.Spec) sandbox.Spec {
	if k.project == nil {
		return spec
	}
	spec.Mounts = append(spec.Mounts[:len(spec.Mounts):len(spec.Mounts)],
		sandbox.Mount{Source: k.project.Dir(), Target: projects, Optional: true, Relabel: true})
	return spec
}

// maxKey bounds a key, in bytes.
const maxKey = 1024

// memoryParams are the parameters of the memory's methods.
type memoryParams struct {
	wireParams
	Key      string          `json:"key"`
	Value    json.RawMessage `json:"value"`
	Metadata json.RawMessage `json:"metadata"`
	Bare     bool            `json:"bare"` // the memory without its value
	Source   string          `json:"source"`
	Version  *string         `json:"version"` // the version to replace; nil: any
}

// memoryMethod is a method of the memory, and whether it only reads.
type memoryMethod struct {
	reads bool
	do    func(ctx context.Context, k *memory, p memoryParams) (any, error)
}

// memoryMethods are all methods of the memory.
var memoryMethods = map[string]memoryMethod{
	"memory.load": {true, func(_ context.Context, k *memory, p memoryParams) (any, error) {
		m, err := k.project.Load(p.Key)
		return loaded(m, p.Bare), err
	}},
	"memory.list": {true, func(ctx context.Context, k *memory, _ memoryParams) (any, error) {
		list, err := k.project.List(ctx)
		return map[string]any{"memories": list}, err
	}},
	"memory.save": {false, func(ctx context.Context, k *memory, p memoryParams) (any, error) {
		if p.Value == nil {
			return nil, refuse("invalid", "no value to save")
		}
		m, ok, err := k.project.Save(ctx, store.Memory{Key: p.Key, Value: p.Value, Metadata: p.Metadata}, p.Version, k.bounds(), time.Now())
		if err != nil || ok {
			return map[string]any{"saved": true}, err
		}
		return loaded(m, false), nil
	}},
	"memory.delete": {false, func(ctx context.Context, k *memory, p memoryParams) (any, error) {
		ok, err := k.project.Delete(ctx, p.Key)
		return map[string]any{"deleted": ok}, err
	}},
	loadTools: {true, func(_ context.Context, k *memory, _ memoryParams) (any, error) {
		return k.project.Tools()
	}},
	"tools.save": {false, func(ctx context.Context, k *memory, p memoryParams) (any, error) {
		if p.Version == nil {
			return nil, refuse("invalid", "the saved tools can only be replaced with the version that they have now")
		}
		t, ok, err := k.project.SaveTools(ctx, store.Tools{Source: p.Source, Version: *p.Version}, k.bounds())
		return map[string]any{"saved": ok, "source": t.Source, "version": t.Version}, err
	}},
}

const loadTools = "tools.load"

// serve answers a request of one of the memoryMethods.
func (k *memory) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var p memoryParams
	if err := decode(method, params, &p); err != nil {
		return nil, err
	}
	if len(p.Key) > maxKey {
		return nil, refuse("invalid", "a key of %d bytes; at most %d", len(p.Key), maxKey)
	}
	m := memoryMethods[method]
	if err := k.usable(m.reads); err != nil {
		if method == loadTools {
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
	answer, err := m.do(ctx, k, p)
	return answer, k.word(err)
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

func (k *memory) bounds() store.Bounds {
	return store.Bounds{Bytes: k.profile.Memory.Bytes, Keys: k.profile.Memory.Keys}
}

// usable refuses what the profile does not allow.
func (k *memory) usable(reads bool) error {
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

// word turns an error of the store into one that the guest may see. Paths of the
// host go to the log.
func (k *memory) word(err error) error {
	var full *store.FullError
	var corrupt *store.CorruptError
	var file *fs.PathError
	var refused *sandbox.Error
	switch {
	case err == nil, errors.As(err, &refused):
		return err
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
