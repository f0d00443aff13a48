package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// maxLine bounds one message of a server, in bytes.
	maxLine = 64 << 20
	// maxQueued bounds what waits for a server to read it, in bytes.
	maxQueued = 64 << 20
)

var errQueueFull = errors.New("does not read its input")

// input hands messages to a server without ever waiting for it: a server that
// does not read must not hold up its callers beyond their own deadlines, and
// the library writes under a lock that all callers share.
type input struct {
	file *os.File
	wake chan struct{}

	mu      sync.Mutex
	queued  []byte
	writing int // bytes taken from the queue and not written yet
	err     error
}

func newInput(file *os.File) *input {
	return &input{file: file, wake: make(chan struct{}, 1)}
}

// Write queues one message.
func (in *input) Write(p []byte) (int, error) {
	in.mu.Lock()
	waiting := len(in.queued) + in.writing
	switch {
	case in.err != nil:
		in.mu.Unlock()
		return 0, in.err
	case waiting > 0 && waiting+len(p) > maxQueued:
		in.mu.Unlock()
		return 0, errQueueFull
	}
	in.queued = append(in.queued, p...)
	in.mu.Unlock()
	select {
	case in.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// drain writes what is queued until the input is closed or the server's end
// of the pipe is.
func (in *input) drain() {
	var spare []byte
	for range in.wake {
		in.mu.Lock()
		batch := in.queued
		in.queued, in.writing = spare[:0], len(batch)
		in.mu.Unlock()
		_, err := in.file.Write(batch)
		in.mu.Lock()
		in.writing = 0
		if err != nil && in.err == nil {
			in.err = err
		}
		failed := in.err != nil
		in.mu.Unlock()
		if failed {
			return
		}
		if spare = batch; cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

// Close lets the server see the end of its input. What is queued is dropped.
func (in *input) Close() error {
	in.mu.Lock()
	closed := errors.Is(in.err, os.ErrClosed)
	if !closed {
		in.err = os.ErrClosed
	}
	in.mu.Unlock()
	if closed {
		return nil
	}
	select {
	case in.wake <- struct{}{}:
	default:
	}
	return in.file.Close()
}

// output passes on the lines of a server that can be messages. Others, which
// servers should write to stderr but some do not, are kept as last words; a
// line without end closes the connection.
type output struct {
	src   *bufio.Reader
	words *tail
	eof   chan struct{} // closed at the end

	end     sync.Once
	tooLong atomic.Bool

	rest    []byte // of the chunk being passed on
	within  bool   // the next chunk goes on with the line before it
	message bool   // that line is one that can be a message
	length  int    // of that line so far
	err     error
}

func newOutput(r io.Reader, words *tail) *output {
	return &output{src: bufio.NewReaderSize(r, 64<<10), words: words, eof: make(chan struct{})}
}

func (o *output) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		if o.err != nil {
			// Only now has the library dealt with all that came before. Whatever
			// ended it is told elsewhere: io.EOF keeps the library quiet.
			o.end.Do(func() { close(o.eof) })
			return 0, io.EOF
		}
		o.next()
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// next reads the next chunk of a line.
func (o *output) next() {
	chunk, err := o.src.ReadSlice('\n')
	if err != nil && err != bufio.ErrBufferFull {
		o.err = err
	}
	if !o.within {
		start := bytes.TrimLeft(chunk, " \t\r\n")
		o.message = len(start) > 0 && start[0] == '{'
		o.length = 0
		if !o.message {
			o.words.add(chunk[:min(len(chunk), tailWidth)])
		}
	}
	o.length += len(chunk)
	o.within = err == bufio.ErrBufferFull
	if o.length > maxLine {
		o.tooLong.Store(true)
		o.err = io.EOF
		return
	}
	if o.message {
		o.rest = chunk
	}
}

// buffered is the output as the library reads it best.
func (o *output) buffered() io.Reader { return bufio.NewReaderSize(o, 64<<10) }
