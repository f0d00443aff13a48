package upstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// event is one of a stream of server-sent events.
type event struct {
	kind string // "" is a message
	data []byte
}

// events reads a stream of server-sent events, as the HTML standard has them
// (section 9.2.6), and remembers how to go on with it elsewhere.
type events struct {
	src  *bufio.Reader
	last string        // id of the last event that was whole
	wait time.Duration // that the server asks for before a reconnection, 0 if none

	begun  bool // a line has been read
	ending bool // it ended with \r: a \n that follows belongs to that
}

var errTooLong = fmt.Errorf("sent a message of more than %d MiB", maxLine>>20)

func newEvents(r io.Reader) *events {
	return &events{src: bufio.NewReaderSize(r, 64<<10)}
}

// next gives the next event. It may have no data, if it is there for its id
// alone. At the end of the stream the error is io.EOF.
func (e *events) next() (event, error) {
	var ev event
	var id []byte
	named, any := false, false
	for {
		line, err := e.line(len(ev.data))
		if err != nil {
			return event{}, err // an event that is not whole does not count
		}
		if len(line) == 0 {
			if !any {
				continue
			}
			if named {
				e.last = string(id)
			}
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if ev.data != nil {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			any = true
		case "event":
			ev.kind = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= 4096 {
				id, named, any = bytes.Clone(value), true, true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.wait = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line reads a line, which ends with \n, \r\n or \r, without its end. Of the
// event it belongs to, so much has been read before. It does not wait for the
// \n that may follow a \r: the server may wait for an answer first.
func (e *events) line(before int) ([]byte, error) {
	var line []byte
	for {
		if _, err := e.src.Peek(1); err != nil {
			return nil, err
		}
		part, _ := e.src.Peek(e.src.Buffered())
		if e.ending && part[0] == '\n' {
			e.ending = false
			e.src.Discard(1)
			continue
		}
		end := bytes.IndexAny(part, "\r\n")
		if e.ending = end >= 0 && part[end] == '\r'; end >= 0 {
			part = part[:end]
		}
		line = append(line, part...)
		e.src.Discard(len(part))
		switch {
		case before+len(line) > maxLine:
			return nil, errTooLong
		case end < 0:
			continue
		}
		e.src.Discard(1)
		if !e.begun {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		e.begun = true
		return line, nil
	}
}
