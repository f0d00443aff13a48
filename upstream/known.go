package upstream

// Known gives the catalog of a server as it was last read by this set, without
// asking the server for anything. What is kept of other bridges' does not count:
// the server may have learnt since.
func (s *Set) Known(server string) ([]Tool, bool) {
	s.mu.Lock()
	srv := s.servers[server]
	s.mu.Unlock()
	if srv == nil {
		return nil, false
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.catalog == nil || srv.catalog.conn == nil {
		return nil, false
	}
	return srv.catalog.tools, true
}

// Remembered gives the catalog of a server as it was last read, by this set or
// by another bridge whose catalogs are kept, without asking the server.
func (s *Set) Remembered(server string) ([]Tool, bool) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, false
	}
	srv.recall()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.catalog == nil {
		return nil, false
	}
	return srv.catalog.tools, true
}
