package upstream

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"bridge/definition"
)

// Update makes the set one of these servers. Those that are defined as before
// go on; those that are not any more, or otherwise, are ended, in the
// background. Of definitions with the same name the first counts. It is not for
// use while a call of one that it ends is under way, which would fail.
func (s *Set) Update(defs []definition.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.servers
	s.servers = map[string]*server{}
	for _, def := range defs {
		if s.servers[def.Name] != nil {
			continue
		}
		if def.StartTimeout <= 0 {
			def.StartTimeout = DefaultStartTimeout
		}
		if def.CallTimeout <= 0 {
			def.CallTimeout = DefaultCallTimeout
		}
		if same := old[def.Name]; same != nil && reflect.DeepEqual(same.def, def) {
			s.servers[def.Name] = same
			delete(old, def.Name)
			continue
		}
		srv := &server{set: s, def: def, log: s.log.With("server", def.Name)}
		srv.life, srv.stop = context.WithCancel(s.life)
		s.servers[def.Name] = srv
	}
	for _, gone := range old {
		gone.stop()
		gone.mu.Lock()
		if gone.catalog != nil {
			s.catalogs.Add(-gone.catalog.bytes)
		}
		gone.catalog = nil
		gone.mu.Unlock()
	}
}

// names are those of the servers, sorted.
func (s *Set) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.servers))
}
