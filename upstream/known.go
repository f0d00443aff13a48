package upstream

// Known gives the catalog of a server as it was last read, without asking the
// server for anything.
func (s *Set) Known(server string) ([]Tool, bool) {
	s.mu.Lock()
	srv := s.servers[server]
	s.mu.Unlock()
	if srv == nil {
		return nil, false
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.catalog == nil {
		return nil, false
	}
	return srv.catalog.tools, true
}
