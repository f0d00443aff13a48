package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bridge/definition"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxPages and maxTools bound a catalog: a server may send pages for ever.
	maxPages    = 200
	maxTools    = 10_000
	maxCatalog  = 16 << 20 // bytes
	maxCatalogs = 24 << 20 // bytes of all servers of a set
	maxCursor   = 4 << 10  // bytes
	// What is longer of a tool is cut off, or costs the tool.
	maxToolName    = 512
	maxTitle       = 1 << 10
	maxDescription = 64 << 10
	maxSchema      = 256 << 10
	// maxWarnings bounds what is logged of one page.
	maxWarnings = 5
)

// catalog is what a server said of its tools.
type catalog struct {
	tools   []definition.Tool
	conn    *conn // the life that said it, nil for what was kept of another bridge's
	changes int64 // how often that one had changed its mind before
	bytes   int64 // about what it takes
}

type listParams struct {
	Cursor string         `json:"cursor,omitempty"`
	Meta   map[string]any `json:"_meta,omitempty"`
}

// tools gives the catalog that holds now. The one of a server that is not
// running holds until it runs again.
func (s *server) tools(ctx context.Context) ([]definition.Tool, error) {
	s.recall()
	s.mu.Lock()
	known, c := s.catalog, s.conn
	s.mu.Unlock()
	if known != nil && (c == nil || known.conn == c && known.changes == c.changes.Load()) {
		return known.tools, nil
	}
	tools, err := s.relist(ctx)
	if errors.Is(err, errSession) {
		// A server over HTTP has forgotten the session.
		tools, err = s.relist(ctx)
	}
	return tools, err
}

// relist reads the catalog anew, once for all who ask at the same time.
func (s *server) relist(ctx context.Context) ([]definition.Tool, error) {
	c, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	// Whoever has heard of a change must not be given a reading from before.
	key := fmt.Sprintf("list %s %p %d", s.def.Name, c, c.changes.Load())
	flight := s.set.flights.DoChan(key, func() (any, error) { return s.list(c) })
	select {
	case res := <-flight:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*catalog).tools, nil
	case <-ctx.Done():
		failure := s.cancelled(ctx, string(mcp.MethodToolsList), true)
		failure.Tool = ""
		return nil, failure
	}
}

// list reads all pages of a server's tools/list.
func (s *server) list(c *conn) (*catalog, error) {
	read := &catalog{conn: c, changes: c.changes.Load()}
	kept := false
	defer func() {
		if !kept {
			s.set.catalogs.Add(-read.bytes)
		}
	}()
	params := listParams{Meta: c.meta}
	cursors := map[string]bool{"": true}
	names := map[string]bool{}
	for page := 1; ; page++ {
		raw, err := s.ask(s.life, c, "", string(mcp.MethodToolsList), params)
		var failure *Error
		if errors.As(err, &failure) && failure.Code == mcp.METHOD_NOT_FOUND {
			break // a server without tools
		}
		if err != nil {
			return nil, err
		}
		next, full, err := s.page(raw, read, names)
		if err != nil {
			return nil, err
		}
		if next == "" || full {
			break
		}
		if len(next) > maxCursor || cursors[next] || page == maxPages || len(read.tools) >= maxTools {
			s.log.Warn("its list of tools does not end", "pages", page, "tools", len(read.tools))
			break
		}
		cursors[next] = true
		params.Cursor = next
	}
	kept = true
	s.mu.Lock()
	if s.catalog != nil {
		s.set.catalogs.Add(-s.catalog.bytes)
	}
	s.catalog = read
	s.mu.Unlock()
	s.keep(read)
	return read, nil
}

// page reads one page, which may be large: one at a time, and counted until it
// is read.
func (s *server) page(raw json.RawMessage, into *catalog, names map[string]bool) (next string, full bool, err error) {
	reading, done := context.WithCancel(context.Background())
	defer done()
	s.set.large.keep(reading, len(raw))
	s.set.reading.Lock()
	defer s.set.reading.Unlock()
	room := min(maxCatalog-into.bytes, maxCatalogs-s.set.catalogs.Load())
	before := into.bytes
	next, full, err = s.read(raw, into, names, room)
	s.set.catalogs.Add(into.bytes - before)
	return next, full, err
}

var errFull = errors.New("full")

// read adds the tools of one page, as far as there is room, and gives the cursor
// of the next. A tool that cannot be used is left out, and costs the others
// nothing.
func (s *server) read(raw json.RawMessage, into *catalog, names map[string]bool, room int64) (next string, full bool, err error) {
	var page struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor json.RawMessage `json:"nextCursor"`
	}
	err = json.Unmarshal(raw, &page)
	if err == nil && len(page.Tools) > 0 {
		full, err = s.entries(page.Tools, into, names, room)
	}
	if err != nil {
		return "", false, s.errorf("server %q: its answer to tools/list is not a list of tools", s.def.Name)
	}
	return text(page.NextCursor), full, nil
}

// entries adds tools, and tells whether there was no room for more.
func (s *server) entries(list json.RawMessage, into *catalog, names map[string]bool, room int64) (full bool, err error) {
	left := 0
	err = each(list, func(entry json.RawMessage) error {
		if len(into.tools) == maxTools {
			s.log.Warn("it has too many tools; the others are left out", "most", maxTools)
			return errFull
		}
		tool, err := parseTool(entry)
		if err == nil && names[tool.Name] {
			err = fmt.Errorf("a second %q", tool.Name)
		}
		if err != nil {
			if left++; left <= maxWarnings {
				s.log.Warn("a tool is left out", "err", err)
			}
			if left > maxTools {
				return errFull
			}
			return nil
		}
		if room -= sizeOf(tool); room < 0 {
			s.log.Warn("its list of tools is too large; the rest is left out", "most", maxCatalog, "of all servers", maxCatalogs)
			return errFull
		}
		names[tool.Name] = true
		into.tools = append(into.tools, tool)
		into.bytes += sizeOf(tool)
		return nil
	})
	if left > maxWarnings {
		s.log.Warn("tools are left out", "in all", left)
	}
	if errors.Is(err, errFull) {
		return true, nil
	}
	return false, err
}

// size is about what a tool takes, in bytes.
func sizeOf(t definition.Tool) int64 {
	return int64(256 + len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Annotations))
}

// toolFields are what is read of a tool.
var toolFields = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"}

// fieldsOf are the named fields of an object; of two of one name the last.
func fieldsOf(object json.RawMessage, names ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, name.(string)) {
			fields[name.(string)] = value
		}
	}
	return fields, nil
}

// clip shortens a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// parseTool reads one entry of a tools/list. Only a name is asked for: what
// else is odd about a tool is for those who use it.
func parseTool(raw json.RawMessage) (definition.Tool, error) {
	fields, err := fieldsOf(raw, toolFields...)
	if err != nil {
		return definition.Tool{}, err
	}
	tool := definition.Tool{
		Name:         text(fields["name"]),
		Title:        clip(text(fields["title"]), maxTitle),
		Description:  clip(text(fields["description"]), maxDescription),
		InputSchema:  value(fields["inputSchema"]),
		OutputSchema: value(fields["outputSchema"]),
		Annotations:  value(fields["annotations"]),
	}
	switch {
	case tool.Name == "":
		return definition.Tool{}, errors.New("no name")
	case len(tool.Name) > maxToolName:
		return definition.Tool{}, fmt.Errorf("a name of %d bytes; at most %d", len(tool.Name), maxToolName)
	}
	for _, name := range []string{"inputSchema", "outputSchema", "annotations"} {
		if len(fields[name]) > maxSchema {
			return definition.Tool{}, fmt.Errorf("%q: its %s has %d bytes; at most %d", tool.Name, name, len(fields[name]), maxSchema)
		}
	}
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	var execution struct {
		TaskSupport json.RawMessage `json:"taskSupport"`
	}
	if json.Unmarshal(fields["execution"], &execution) == nil {
		tool.TaskOnly = text(execution.TaskSupport) == "required"
	}
	if tool.Title == "" {
		var hints struct {
			Title json.RawMessage `json:"title"`
		}
		if json.Unmarshal(tool.Annotations, &hints) == nil {
			tool.Title = clip(text(hints.Title), maxTitle)
		}
	}
	return tool, nil
}

// schema is that of a tool's arguments as it was last read, nil if it is not
// known.
func (s *server) schema(tool string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog == nil {
		return nil
	}
	for _, t := range s.catalog.tools {
		if t.Name == tool {
			return t.InputSchema
		}
	}
	return nil
}

// text is a JSON string, "" if it is something else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// value is what was sent, nil if it was nothing.
func value(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
