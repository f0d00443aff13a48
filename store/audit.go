package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Log is the audit log: a file for each day, of one JSON object a line. What
// has been written is never changed.
//
// A line is appended in one write, so several bridges can share the files.
type Log struct {
	dir string

	mu   sync.Mutex // guards torn
	torn bool       // the last line was not written whole
}

// Log opens the audit log. It is an error if nothing can be appended to it.
func (s *Store) Log(now time.Time) (*Log, error) {
	l := &Log{dir: filepath.Join(s.root, "audit")}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := l.open(now)
	if err != nil {
		return nil, err
	}
	return l, f.Close()
}

func (l *Log) open(now time.Time) (*os.File, error) {
	path := filepath.Join(l.dir, now.UTC().Format(time.DateOnly)+".jsonl")
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// Append adds a record, in the file of its time. The file is opened anew each
// time, so that one which somebody has moved away is not written to.
func (l *Log) Append(now time.Time, record any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.open(now)
	if err != nil {
		return err
	}
	data := line.Bytes()
	if l.torn {
		data = append([]byte("\n"), data...)
	}
	n, err := f.Write(data)
	l.torn = err != nil && (n > 0 || l.torn)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
