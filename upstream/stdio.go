package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxLine bounds one message of a server, in bytes.
	maxLine = 20 << 20
	// maxQueued bounds what waits for servers to read it, in bytes.
	maxQueued = 24 << 20
	// littleQueued always has room where nothing waits for the same server.
	littleQueued = 64 << 10
)

var errQueueFull = errors.New("does not read its input")

// input hands messages to a server without ever waiting for it: a server that
// does not read must not hold up its callers beyond their own deadlines, and
// the library writes under a lock that all callers share.
type input struct {
	file *os.File
	wake chan struct{}
	all  *atomic.Int64 // bytes that wait for any server

	mu      sync.Mutex
	queued  []byte
	writing int // bytes taken from the queue and not written yet
	err     error
}

func newInput(file *os.File, all *atomic.Int64) *input {
	return &input{file: file, wake: make(chan struct{}, 1), all: all}
}

// Write queues one message.
func (in *input) Write(p []byte) (int, error) {
	in.mu.Lock()
	waits := len(in.queued)+in.writing > 0 || len(p) > littleQueued
	switch {
	case in.err != nil:
		in.mu.Unlock()
		return 0, in.err
	case waits && in.all.Load() > 0 && in.all.Load()+int64(len(p)) > maxQueued:
		in.mu.Unlock()
		return 0, errQueueFull
	}
	in.all.Add(int64(len(p)))
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
		in.all.Add(-int64(len(batch)))
		if err != nil && in.err == nil {
			in.err = err
		}
		failed := in.err != nil
		if failed {
			in.all.Add(-int64(len(in.queued)))
			in.queued = nil
		}
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

// output reads the lines of a server.
type output struct {
	src  *bufio.Reader
	eof  chan struct{} // closed when all has been heard
	end  error         // why it is not read any further, to be read after eof
	all  *largeMessages
	done <-chan struct{}          // closed when nobody hears it any more
	stop func(deadline time.Time) // ends the reading then

	within bool // the last line is a large message, which has its turn
}

func newOutput(r io.Reader, all *largeMessages, done <-chan struct{}, stop func(deadline time.Time)) *output {
	return &output{src: bufio.NewReaderSize(r, 64<<10), eof: make(chan struct{}), all: all, done: done, stop: stop}
}

// maxJunk is how much is kept of a line that does not begin as a message does,
// in bytes.
const maxJunk = 64 << 10

// line gives the next line, also an unended last one with the error of the end.
// One that is too long is such an end.
func (o *output) line() ([]byte, error) {
	o.leave()
	var line []byte
	length, most := 0, maxLine
	for {
		chunk, err := o.src.ReadSlice('\n')
		if length == 0 && !begins(chunk) {
			most = maxJunk
		}
		length += len(chunk)
		line = append(line, chunk[:min(len(chunk), most-min(len(line), most))]...)
		switch {
		case length > maxLine:
			o.end = errTooLong
			return nil, io.EOF
		case length > largeSize && most == maxLine && !o.within:
			if !o.all.enter(o.done) {
				return nil, io.EOF
			}
			o.within = true
			o.stop(time.Now().Add(largeTime))
		}
		switch {
		case o.within && errors.Is(err, os.ErrDeadlineExceeded):
			o.end = errSlow
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			if o.within {
				o.stop(time.Time{})
			}
			return line, err
		}
	}
}

// leave ends the turn of the last line, which has been dealt with.
func (o *output) leave() {
	if o.within {
		o.within = false
		o.all.leave()
	}
}

// begins tells whether a line begins as a message does.
func begins(line []byte) bool {
	line = bytes.TrimLeft(bytes.TrimPrefix(line, byteOrderMark), " \t\r\n")
	return len(line) > 0 && line[0] == '{'
}

// ear tells the messages of a server from what else it writes to stdout. Servers
// should write that to stderr, but many do not: it is kept as last words.
type ear struct {
	pipe  *pipe
	block []byte // lines from one that begins like a message and is none
}

// hear deals with one line.
func (e *ear) hear(line []byte) {
	line = bytes.TrimRight(line, "\r\n")
	why := "there is text before the message"
	switch {
	case bytes.HasPrefix(line, []byte("[")):
		why = "it is a list"
	case begins(line):
		m, err := parse(line)
		within := e.block != nil && (line[0] == ' ' || line[0] == '\t') // an object that is a part of the printed one
		if err == nil && (!within || m.Method != "" || m.isAnswer()) {
			e.block = nil
			e.pipe.pending.take(line, m, e.pipe.send)
			return
		}
		if err != nil {
			why = unread(err)
		}
		if !within {
			e.block = []byte{}
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	e.pipe.conn.stderr.add(line[:min(len(line), tailWidth)])
	e.pipe.pending.doubt(line, why)
	switch room := maxJunk - len(e.block); {
	case e.block == nil:
		return
	case len(line) < room:
		e.block = append(append(e.block, line...), '\n')
	}
	if line[0] == '}' { // at the margin: the end of an object that is printed to be read
		e.pipe.pending.doubt(e.block, "a message must be one line")
		e.block = nil
	}
}
