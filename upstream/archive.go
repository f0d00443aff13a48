package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bridge/definition"
)

// archive is a folder in which catalogs are kept from one bridge to the next, a
// file for each definition of a server. They are for finding tools: before a
// call the server itself is asked.
type archive struct{ dir string }

const (
	// maxKept bounds a file of an archive, in bytes.
	maxKept = 24 << 20

	// keptFor is how long a catalog is kept of a server that does not run.
	keptFor = 90 * 24 * time.Hour
)

// kept is the content of a file.
type kept struct {
	Server string            `json:"server"`
	Tools  []definition.Tool `json:"tools"`
}

// Keep has what is known of servers kept in a folder, which is made when there
// is something to keep: catalogs, in its folder catalogs, which are taken from
// there for servers that are not running; and what Login brings, in tokens. It
// is for use before any server is.
func (s *Set) Keep(dir string) {
	s.archive, s.state = &archive{filepath.Join(dir, "catalogs")}, dir
}

// file is where the catalog of a server is kept. Its name is a sum over the
// definition, in which secrets are not: references are not expanded, and of
// variables and headers that are written without one, only the names count.
func (a *archive) file(def definition.Server) string {
	public := func(table map[string]string) map[string]string {
		list := map[string]string{}
		for name, value := range table {
			if !reference.MatchString(value) {
				value = ""
			}
			list[name] = value
		}
		return list
	}
	// Maps are written in the order of their keys.
	text, err := json.Marshal([]any{
		def.Name, def.Command, def.Args, public(def.Env), def.EnvFile, def.Cwd, def.URL, public(def.Headers), def.Transport,
	})
	if err != nil {
		panic(err) // strings alone
	}
	sum := sha256.Sum256(text)
	return filepath.Join(a.dir, hex.EncodeToString(sum[:])+".json")
}

// load gives the catalog that is kept of a server, nil if there is none.
func (a *archive) load(def definition.Server) (*catalog, error) {
	file := a.file(def)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > maxKept:
		return nil, errors.New("too large")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, err
	}
	if k.Server != def.Name {
		return nil, errors.New("of another server")
	}
	c := &catalog{}
	names := map[string]bool{}
	for _, t := range k.Tools {
		if t.Name == "" || names[t.Name] || len(c.tools) == maxTools {
			return nil, errors.New("not as it was written")
		}
		names[t.Name] = true
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		c.tools = append(c.tools, t)
		c.bytes += sizeOf(t)
	}
	return c, nil
}

// save keeps the catalog of a server. Whoever reads the file meanwhile has the
// old one or the new one.
func (a *archive) save(def definition.Server, c *catalog) error {
	text, err := json.Marshal(kept{def.Name, c.tools})
	if err != nil || len(text) > maxKept {
		return err
	}
	defer a.prune()
	file := a.file(def)
	if old, err := os.ReadFile(file); err == nil && string(old) == string(text) {
		now := time.Now()
		os.Chtimes(file, now, now) // if it is ours
		return nil
	}
	return writeFile(file, text)
}

// prune removes what has not been kept again for long: the server is gone, or
// its definition is another one.
func (a *archive) prune() {
	files, _ := os.ReadDir(a.dir)
	for _, file := range files {
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(filepath.Join(a.dir, file.Name()))
		}
	}
}

// recall takes the catalog of a server from the archive, once.
func (s *server) recall() {
	if s.set.archive == nil {
		return
	}
	s.recalled.Do(func() {
		s.set.reading.Lock()
		defer s.set.reading.Unlock()
		c, err := s.set.archive.load(s.def)
		if c != nil && s.set.catalogs.Load()+c.bytes > maxCatalogs {
			c, err = nil, fmt.Errorf("the catalogs of all servers have more than %d bytes", maxCatalogs)
		}
		if err != nil {
			s.log.Warn("its stored catalog cannot be used", "err", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.catalog == nil && c != nil {
			s.catalog = c
			s.set.catalogs.Add(c.bytes)
		}
	})
}

// keep puts the catalog of a server in the archive.
func (s *server) keep(c *catalog) {
	if s.set.archive == nil {
		return
	}
	s.set.reading.Lock()
	defer s.set.reading.Unlock()
	if err := s.set.archive.save(s.def, c); err != nil {
		s.log.Warn("its catalog cannot be stored", "err", err)
	}
}
