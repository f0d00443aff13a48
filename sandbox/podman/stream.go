package podman

import (
	"io"
	"net"
	"sync"
)

// room is what a stream keeps for a reader that is not there. A writer that
// comes further has to wait.
const room = 1 << 20

// stream is what came on one of the guest's outputs and was not read yet.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	at      int // where what was not read begins
	ended   bool
	free    bool // nobody waits for a reader any more
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == s.at {
		if s.ended {
			return 0, io.EOF
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

// write adds to the stream. Of a sandbox that was killed, what nobody makes
// room for is not kept.
func (s *stream) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data)-s.at >= room {
		if s.free {
			return
		}
		s.changed.Wait()
	}
	if s.at > 0 && len(s.data)+len(p) > cap(s.data) {
		s.data = s.data[:copy(s.data, s.data[s.at:])]
		s.at = 0
	}
	s.data = append(s.data, p...)
	s.changed.Broadcast()
}

// discard lets a writer go on without a reader.
func (s *stream) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = true
	s.changed.Broadcast()
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}

// input is the way to the guest's stdin. Closing it is the guest's end of
// file; its outputs go on.
type input struct {
	net.Conn
	once sync.Once
	err  error
}

func (i *input) Close() error {
	i.once.Do(func() {
		half, ok := i.Conn.(interface{ CloseWrite() error })
		if !ok {
			i.err = i.Conn.Close()
			return
		}
		i.err = half.CloseWrite()
	})
	return i.err
}
