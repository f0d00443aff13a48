package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// A Log is the audit log: files of one JSON object a line, which are called
// after their day. A day's file that has grown large is given a number, and
// another is begun; the oldest files are removed when all together are more
// than the log may have.
//
// Several bridges share the files. A line is appended in one write, so that it
// is whole, and one that is written while the file gets its number is in that
// file.
type Log struct {
	dir   string
	lock  string // the file that a bridge locks before it moves files
	bytes int64  // that all files may have together

	mu   sync.Mutex // guards torn, and is held while a line is appended
	torn bool       // the last line of ours is not whole
}

const (
	// parts is how many files of one size the log has room for.
	parts = 8

	// stuck is how long a bridge waits for another that is about to move a file
	// that has grown to twice its size: one that grew on would be removed as a
	// whole, and with it all that was written last.
	stuck = 5 * time.Second
)

// Log opens the audit log, which keeps so many bytes. It is an error if nothing
// can be appended to it.
func (s *Store) Log(now time.Time, bytes int64) (*Log, error) {
	l := &Log{dir: filepath.Join(s.root, "audit"), lock: filepath.Join(s.root, "locks", "audit.lock"), bytes: bytes}
	for _, dir := range []string{l.dir, filepath.Dir(l.lock)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := l.open(now, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A machine that has stopped may have left half a line; what others write now is none.
	if info, err := f.Stat(); err == nil && info.Size() > 0 && time.Since(info.ModTime()) > time.Second {
		last := make([]byte, 1)
		_, err := f.ReadAt(last, info.Size()-1)
		l.torn = err == nil && last[0] != '\n'
	}
	_, err = l.tidy("", 0)
	return l, err
}

// Append adds a record, in the file of its time. The file is opened anew each
// time, so that one which has been moved away is not written to. What has been
// written is with the system, and outlives the bridge; it is not synchronized.
func (l *Log) Append(now time.Time, record any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.open(now, int64(line.Len()))
	if err != nil {
		return err
	}
	data := line.Bytes()
	if l.torn {
		data = append([]byte("\n"), data...)
	}
	n, err := f.Write(data)
	l.torn = err != nil && (n > 0 && !takeBack(f, n) || l.torn)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// takeBack removes the last bytes that were written to a file, unless others
// have been appended.
func takeBack(f *os.File, n int) bool {
	end, err := f.Seek(0, io.SeekCurrent)
	info, serr := f.Stat()
	return err == nil && serr == nil && info.Size() == end && f.Truncate(end-int64(n)) == nil
}

// open opens the day's file for so many more bytes.
func (l *Log) open(now time.Time, more int64) (*os.File, error) {
	day := now.UTC().Format(time.DateOnly)
	path := filepath.Join(l.dir, day+".jsonl")
	begun := time.Now()
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")} // what is written there is not kept
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		size := info.Size()
		if size > 0 && size+more <= l.bytes/parts {
			return f, nil
		}
		mine, err := l.tidy(day, size)
		if err != nil {
			f.Close()
			return nil, err
		}
		if size == 0 || !mine && (size <= 2*l.bytes/parts || time.Since(begun) > stuck) {
			return f, nil // which another bridge is about to move
		}
		f.Close()
		if !mine {
			time.Sleep(time.Millisecond)
		}
	}
}

// tidy gives the day's file its number, if it still has the size, and removes
// the oldest files if there is more than there may be. It does nothing while
// another bridge does it.
func (l *Log) tidy(day string, size int64) (mine bool, err error) {
	mine, err = unlessLocked(l.lock, func() error {
		if size > 0 {
			if err := l.number(day, size); err != nil {
				return err
			}
		}
		return l.prune()
	})
	if err != nil {
		return false, fmt.Errorf("bounding the audit log: %w", err)
	}
	return mine, nil
}

// number moves the day's file to the next number.
func (l *Log) number(day string, size int64) error {
	path := filepath.Join(l.dir, day+".jsonl")
	if info, err := os.Stat(path); err != nil || info.Size() < size {
		return nil // it has been moved already
	}
	files, err := l.files()
	if err != nil {
		return err
	}
	next := 1
	for _, name := range files {
		var n int
		if _, err := fmt.Sscanf(name, day+".%d.jsonl", &n); err == nil && n >= next {
			next = n + 1
		}
	}
	return os.Rename(path, filepath.Join(l.dir, fmt.Sprintf("%s.%06d.jsonl", day, next)))
}

// prune removes the oldest files, and leaves the rest room for one more.
func (l *Log) prune() error {
	files, err := l.files()
	if err != nil {
		return err
	}
	var sum int64
	for i := len(files) - 1; i >= 0; i-- { // from the newest on
		path := filepath.Join(l.dir, files[i])
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sum += info.Size(); sum <= l.bytes-l.bytes/parts {
			continue
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

var logName = regexp.MustCompile(`^\d{4}-\d\d-\d\d(\.\d{6})?\.jsonl$`)

// files are the names of the log's files, from the oldest to the newest.
func (l *Log) files() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var names []string // sorted: a day's numbers come before its file without one
	for _, e := range entries {
		if logName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
