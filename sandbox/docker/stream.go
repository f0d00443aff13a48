package docker

import (
	"io"
	"sync"
)

// room is how much of a stream waits for its reader before docker, and then
// the guest, must wait.
const room = 1 << 20

// stream is what the guest wrote to one of its descriptors and nobody has read
// yet. Docker sends both on one connection, so that this is what keeps a
// reader of the one from waiting for the other.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	at      int  // of data, what is before it has been read
	flowing bool // takes everything: the end is near
	ended   bool
	err     error // told after the last byte
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

// Write takes p when there is room for it.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data)-s.at >= room && !s.flowing {
		s.changed.Wait()
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
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.at == len(s.data) && len(p) > 0 {
		if s.ended {
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

// flow lets everything in, whether anybody reads or not. It is for the time
// when the guest is gone: what is still on its way is no more than docker
// holds, about a megabyte.
func (s *stream) flow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flowing = true
	s.changed.Broadcast()
}

// end says that nothing more comes. What is there can still be read.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	s.flowing, s.ended, s.err = true, true, err
	s.changed.Broadcast()
}
