package upstream

import (
	"context"

	"bridge/definition"
)

// Known gives the catalog of a server as it was last read by this set, without
// asking the server for anything. What is kept of other bridges' does not count:
// the server may have learnt since.
func (s *Set) Known(server string) ([]definition.Tool, bool) {
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
func (s *Set) Remembered(server string) ([]definition.Tool, bool) {
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

// Current gives the catalog of the life of a server that is running, which is
// started if it is not, where Tools may give that of a life before.
func (s *Set) Current(ctx context.Context, server string) ([]definition.Tool, error) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, err
	}
	return srv.current(ctx)
}

// Fresh gives the catalog of a server as it was last read by this set. One that
// has not been read yet is asked for it, and started if need be.
func (s *Set) Fresh(ctx context.Context, server string) ([]definition.Tool, error) {
	if _, read := s.Known(server); read {
		return s.Tools(ctx, server)
	}
	return s.Current(ctx, server)
}

// maxRenewals bounds the servers that are asked at once for what is kept of them.
const maxRenewals = 2

// Renew has a server asked for its catalog in the background, once, if all that
// is known of it was kept by an earlier bridge.
func (s *Set) Renew(server string) {
	srv, err := s.lookup(server)
	if err != nil {
		return
	}
	srv.mu.Lock()
	known := srv.catalog
	srv.mu.Unlock()
	if known == nil || known.conn != nil {
		return
	}
	srv.renewed.Do(func() {
		if !s.begin() {
			return
		}
		go func() {
			defer s.work.Done()
			select {
			case s.renewals <- struct{}{}:
			case <-s.life.Done():
				return
			}
			defer func() { <-s.renewals }()
			if _, err := srv.current(srv.life); err != nil && srv.life.Err() == nil {
				s.log.Warn("its stored catalog cannot be renewed", "server", server, "err", err)
			}
		}()
	})
}

func (s *server) current(ctx context.Context) ([]definition.Tool, error) {
	if _, err := s.live(ctx); err != nil {
		return nil, err
	}
	return s.tools(ctx)
}
