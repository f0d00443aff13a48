package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// message is one frame of the wire, JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      *int64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *wireError      `json:"error,omitempty"`
}

// wireError is the error member of an answer.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// encodeFrame returns a message as a line.
func encodeFrame(m message) ([]byte, error) {
	m.Version = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(data) >= MaxFrame {
		return nil, errFrameSize
	}
	return append(data, '\n'), nil
}

var errFrameSize = fmt.Errorf("a frame of more than %d bytes", MaxFrame)

// decodeFrame reads one line of the guest. It is strict: whatever the guest
// does not send by its own rules is an error.
func decodeFrame(line []byte) (message, error) {
	var m message
	for _, b := range line {
		if b < 0x20 || b >= 0x80 {
			return m, fmt.Errorf("byte 0x%02x in a frame", b)
		}
	}
	if err := strict(line, &m); err != nil {
		return m, err
	}
	switch {
	case m.Version != "2.0":
		return m, fmt.Errorf("version %q, not 2.0", m.Version)
	case m.Method == "" && m.ID == nil:
		return m, errors.New("neither a request nor an answer")
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return m, errors.New("a request with an answer in it")
	case m.Method == "" && (m.Params != nil || (m.Result == nil) == (m.Error == nil)):
		return m, errors.New("an answer without one result or error")
	}
	return m, nil
}

// strict decodes one JSON value and nothing else: no unknown field, nothing
// after it.
func strict(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("malformed frame: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("malformed frame: more than one value")
	}
	return nil
}

// frames reads lines of at most MaxFrame bytes.
type frames struct {
	reader *bufio.Reader
	long   []byte
}

func newFrames(r io.Reader) *frames {
	return &frames{reader: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line without its end; it is valid until the next
// call. A line that the end of the wire cuts short is io.ErrUnexpectedEOF.
func (f *frames) next() ([]byte, error) {
	line, err := f.reader.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	f.long = append(f.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(f.long) > MaxFrame {
			return nil, errFrameSize
		}
		line, err = f.reader.ReadSlice('\n')
		f.long = append(f.long, line...)
	}
	if err == io.EOF && len(f.long) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	line = f.long[:len(f.long)-1]
	if cap(f.long) > 1<<20 {
		// One big frame must not be held for the life of the session.
		f.long = nil
	}
	return line, nil
}
