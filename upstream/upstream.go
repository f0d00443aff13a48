// Package upstream speaks to the MCP servers behind the bridge: it starts
// them when they are first needed, keeps them, lists their tools, calls them,
// and ends them.
//
// What a server sends is passed on as it came: catalogs and results stay raw
// JSON, because a typed reading of them loses what it does not know. What a
// server does is bounded: its start, its answers, the length of its messages,
// its life. The package does not know policies: whoever calls it has already
// decided that the call may be made.
package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bridge/definition"

	"golang.org/x/sync/singleflight"
)

// What a definition that does not say gets.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 60 * time.Second
)

// Set is the servers of one bridge. Its methods may be called by several
// goroutines at once.
type Set struct {
	log     *slog.Logger
	flights singleflight.Group
	archive *archive // nil if catalogs are not kept
	state   string   // the folder in which logins are kept, "" for none

	// life ends with the set: starts that are under way end with it.
	life context.Context
	stop context.CancelFunc

	large    *largeMessages
	reading  sync.Mutex    // held while a catalog is taken apart or put together
	catalogs atomic.Int64  // bytes of all catalogs
	queued   atomic.Int64  // bytes that wait for servers to read them
	renewals chan struct{} // held by each server that is asked for what is kept of it

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
	work    sync.WaitGroup // what Close waits for
}

// New makes a set of servers and starts none of them. Of definitions with the
// same name the first counts.
func New(defs []definition.Server, log *slog.Logger) *Set {
	s := &Set{servers: map[string]*server{}, log: log, renewals: make(chan struct{}, maxRenewals), large: newLargeMessages()}
	s.life, s.stop = context.WithCancel(context.Background())
	s.Update(defs)
	return s
}

// Tools gives the catalog of a server: of one that is not running, as it was
// last read or is kept; it is started if none is known. It must not be changed. Its errors are of type *Error.
func (s *Set) Tools(ctx context.Context, server string) ([]definition.Tool, error) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, err
	}
	return srv.tools(ctx)
}

// Call calls a tool of a server, which is started if it is not running, and
// gives the CallToolResult as the server sent it. The arguments are a JSON
// object; nil is the empty one. A call is sent at most once. Its errors are of
// type *Error; a result whose isError is true is not one.
func (s *Set) Call(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error) {
	return s.Follow(ctx, server, tool, args, nil)
}

// Follow is Call for whoever wants to hear of the call's progress. The function
// must not wait; nil is Call.
func (s *Set) Follow(ctx context.Context, server, tool string, args json.RawMessage, heard func(Progress)) (json.RawMessage, error) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, err
	}
	return srv.call(ctx, tool, args, heard)
}

// Starting are the names of the servers that are being started, sorted.
func (s *Set) Starting() []string {
	var names []string
	for _, name := range s.names() {
		srv, err := s.lookup(name)
		if err != nil {
			continue // it is in the policy no more
		}
		srv.mu.Lock()
		begins := srv.begins
		srv.mu.Unlock()
		if begins {
			names = append(names, name)
		}
	}
	return names
}

// closeTimeout bounds Close. A server has a second to end at the end of its
// input and another after SIGTERM.
const closeTimeout = 4 * time.Second

// Close ends every server, all at once, and waits until nothing of them is
// left, four seconds at most. Calls that are under way fail.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
		s.log.Warn("servers are still ending")
	}
}

// begin counts one piece of work for Close to wait for, unless the set is
// closed.
func (s *Set) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Set) lookup(name string) (*server, error) {
	s.mu.Lock()
	srv := s.servers[name]
	s.mu.Unlock()
	if srv == nil {
		return nil, &Error{Kind: KindServer, Server: name, Message: fmt.Sprintf("unknown server %q", name)}
	}
	return srv, nil
}
