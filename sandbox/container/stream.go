package container

import (
	"io"
	"sync"
)

// room is how many bytes a Stream holds for its reader before its writer waits.
const room = 1 << 20

// Stream holds what the guest wrote to one of its descriptors until it is read.
// Engines send both descriptors on one connection: with a Stream for each, a
// reader of one does not wait for a reader of the other.
type Stream struct {
	mu       sync.Mutex // guards what follows
	changed  sync.Cond
	data     []byte
	at       int  // index in data of the first byte that was not read
	released bool // the writer does not wait any more
	err      error
}

// NewStream returns an empty stream.
func NewStream() *Stream {
	s := &Stream{}
	s.changed.L = &s.mu
	return s
}

// Write waits until there is room for p. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data)-s.at >= room && !s.released {
		s.changed.Wait()
	}
	if len(s.data)-s.at >= 4*room {
		return len(p), nil // released, and nobody reads
	}
	if s.at > 0 && len(s.data)+len(p) > cap(s.data) {
		s.data = s.data[:copy(s.data, s.data[s.at:])]
		s.at = 0
	}
	s.data = append(s.data, p...)
	s.changed.Broadcast()
	return len(p), nil
}

// Read waits until there is something, or the end.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.at == len(s.data) && len(p) > 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.changed.Wait()
	}
	n := copy(p, s.data[s.at:])
	s.at += n
	if s.at == len(s.data) {
		s.data, s.at = s.data[:0], 0
	}
	s.changed.Broadcast()
	return n, nil
}

// Release lets the writer go on without a reader, once the guest is being ended.
// Of what it still writes, a few megabytes are kept.
func (s *Stream) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = true
	s.changed.Broadcast()
}

// End says that nothing more comes, and why, if not because of the guest's end.
// What is there can still be read.
func (s *Stream) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	s.released, s.err = true, err
	s.changed.Broadcast()
}
