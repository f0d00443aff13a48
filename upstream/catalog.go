package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxPages and maxTools bound a catalog: a server may send pages for ever.
	maxPages   = 200
	maxTools   = 10_000
	maxCatalog = 32 << 20 // bytes of all pages
	// maxWarnings bounds what is logged of one page.
	maxWarnings = 5
)

// catalog is what a server said of its tools.
type catalog struct {
	tools   []Tool
	conn    *conn // the life that said it, nil for what was kept of another bridge's
	changes int64 // how often that one had changed its mind before
}

type listParams struct {
	Cursor string         `json:"cursor,omitempty"`
	Meta   map[string]any `json:"_meta,omitempty"`
}

// tools gives the catalog that holds now. The one of a server that is not
// running holds until it runs again.
func (s *server) tools(ctx context.Context) ([]Tool, error) {
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
func (s *server) relist(ctx context.Context) ([]Tool, error) {
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
	params := listParams{Meta: c.meta}
	cursors := map[string]bool{"": true}
	names := map[string]bool{}
	size := 0
	for page := 1; ; page++ {
		raw, err := s.ask(s.life, c, "", string(mcp.MethodToolsList), params)
		var failure *Error
		if errors.As(err, &failure) && failure.Code == mcp.METHOD_NOT_FOUND {
			break // a server without tools
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); page > 1 && size > maxCatalog {
			s.log.Warn("its list of tools is too large; the rest is left out", "most", maxCatalog)
			break
		}
		next, err := s.read(raw, read, names)
		if err != nil {
			return nil, err
		}
		if next == "" {
			break
		}
		if cursors[next] || page == maxPages || len(read.tools) >= maxTools {
			s.log.Warn("its list of tools does not end", "pages", page, "tools", len(read.tools))
			break
		}
		cursors[next] = true
		params.Cursor = next
	}
	s.mu.Lock()
	s.catalog = read
	s.mu.Unlock()
	s.keep(read)
	return read, nil
}

// read adds the tools of one page and gives the cursor of the next. A tool
// that cannot be used is left out, and costs the others nothing.
func (s *server) read(raw json.RawMessage, into *catalog, names map[string]bool) (next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor json.RawMessage   `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return "", s.errorf("server %q: its tools/list is no list of tools", s.def.Name)
	}
	left := 0
	for _, entry := range page.Tools {
		if len(into.tools) == maxTools {
			s.log.Warn("it has too many tools; the others are left out", "most", maxTools)
			break
		}
		tool, err := parseTool(entry)
		if err == nil && names[tool.Name] {
			err = fmt.Errorf("a second %q", tool.Name)
		}
		if err != nil {
			if left++; left <= maxWarnings {
				s.log.Warn("a tool is left out", "err", err)
			}
			continue
		}
		names[tool.Name] = true
		into.tools = append(into.tools, tool)
	}
	if left > maxWarnings {
		s.log.Warn("tools are left out", "in all", left)
	}
	return text(page.NextCursor), nil
}

// parseTool reads one entry of a tools/list. Only a name is asked for: what
// else is odd about a tool is for those who use it.
func parseTool(raw json.RawMessage) (Tool, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Tool{}, errors.New("not an object")
	}
	tool := Tool{
		Name:         text(fields["name"]),
		Title:        text(fields["title"]),
		Description:  text(fields["description"]),
		InputSchema:  value(fields["inputSchema"]),
		OutputSchema: value(fields["outputSchema"]),
		Annotations:  value(fields["annotations"]),
	}
	if tool.Name == "" {
		return Tool{}, errors.New("no name")
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
			tool.Title = text(hints.Title)
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
