package upstream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

// Resources are what a server lists: its resources and its templates of them,
// each as it was sent.
type Resources struct {
	Resources []json.RawMessage
	Templates []json.RawMessage
}

// maxResources bounds each of the lists, as maxTools does that of tools.
const maxResources = 10_000

// Resources asks a server, which is started if it is not running, for its
// resources and templates. One that has none of them has empty lists. Its errors
// are of type *Error.
func (s *Set) Resources(ctx context.Context, server string) (*Resources, error) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, err
	}
	list, err := srv.resources(ctx)
	if errors.Is(err, errSession) {
		list, err = srv.resources(ctx)
	}
	return list, err
}

// Read reads a resource of a server, which is started if it is not running, and
// gives the result as the server sent it. Its errors are of type *Error.
func (s *Set) Read(ctx context.Context, server, uri string) (json.RawMessage, error) {
	srv, err := s.lookup(server)
	if err != nil {
		return nil, err
	}
	result, err := srv.readResource(ctx, uri)
	if errors.Is(err, errSession) {
		result, err = srv.readResource(ctx, uri)
	}
	return result, err
}

func (s *server) resources(ctx context.Context) (*Resources, error) {
	c, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	var r Resources
	if r.Resources, err = s.pages(ctx, c, mcp.MethodResourcesList, "resources"); err != nil {
		return nil, err
	}
	r.Templates, err = s.pages(ctx, c, mcp.MethodResourcesTemplatesList, "resourceTemplates")
	return &r, err
}

// pages reads all pages of one of a server's lists.
func (s *server) pages(ctx context.Context, c *conn, method mcp.MCPMethod, field string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	params := listParams{Meta: c.meta}
	cursors := map[string]bool{"": true}
	size := 0
	for page := 1; ; page++ {
		raw, err := s.ask(ctx, c, "", string(method), params)
		var failure *Error
		if errors.As(err, &failure) && failure.Code == mcp.METHOD_NOT_FOUND {
			return all, nil // a server without them
		}
		if err != nil {
			return nil, err
		}
		s.set.large.keep(until(ctx), len(raw))
		fields, err := fieldsOf(raw, field, "nextCursor")
		if err == nil && fields[field] != nil {
			err = each(fields[field], func(entry json.RawMessage) error {
				if size += len(entry) + 24; len(all) >= maxResources || size > maxCatalog {
					return errFull
				}
				all = append(all, entry)
				return nil
			})
		}
		next := text(fields["nextCursor"])
		switch {
		case err != nil && !errors.Is(err, errFull) || fields[field] == nil:
			return nil, s.errorf("server %q: its answer to %s is not a list of resources", s.def.Name, method)
		case err == nil && next == "":
			return all, nil
		}
		if err != nil || len(next) > maxCursor || cursors[next] || page == maxPages {
			s.log.Warn("its list of resources does not end, or is too large; the rest is left out", "pages", page, "resources", len(all))
			return all, nil
		}
		cursors[next] = true
		params.Cursor = next
	}
}

type readParams struct {
	URI  string         `json:"uri"`
	Meta map[string]any `json:"_meta,omitempty"`
}

func (s *server) readResource(ctx context.Context, uri string) (json.RawMessage, error) {
	c, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	result, err := s.ask(ctx, c, uri, string(mcp.MethodResourcesRead), readParams{URI: uri, Meta: c.meta})
	if err != nil {
		return nil, err
	}
	s.set.large.keep(until(ctx), len(result))
	if !isResource(result) || c.meta != nil && needsInput(result) {
		failure := s.errorf("server %q: its answer to resources/read is not a resource", s.def.Name)
		failure.Tool, failure.Sent = uri, true
		return nil, failure
	}
	return result, nil
}

// isResource tells whether an answer has the shape of a ReadResourceResult.
func isResource(raw json.RawMessage) bool {
	fields, err := fieldsOf(raw, "contents")
	if err != nil || len(fields["contents"]) == 0 || fields["contents"][0] != '[' {
		return false
	}
	n := 0
	return each(fields["contents"], func(entry json.RawMessage) error {
		if n++; n > maxBlocks || entry[0] != '{' && string(entry) != "null" {
			return errors.New("no contents of a resource")
		}
		return nil
	}) == nil
}
