package bridge

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// sessionURI is where resources of the session are: what runs have written in
// full, and the files of /workspace.
const sessionURI = "bridge://session/"

const workspace = "workspace/"

// A resourceCache keeps what results have no room for, for the agent to read as
// resources. When it is full, the oldest makes room.
type resourceCache struct {
	mu    sync.Mutex // guards what follows
	items []cachedResource
	size  int
}

type cachedResource struct {
	name string // below sessionURI
	mime string
	data []byte
}

const (
	maxCache  = 16 << 20 // bytes of all
	maxCached = 200      // resources
)

// put keeps data under a name, and returns the link to it.
func (s *resourceCache) put(name, mime string, data []byte, title string) mcp.ResourceLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, cachedResource{name, mime, data})
	s.size += len(data)
	for len(s.items) > 1 && (s.size > maxCache || len(s.items) > maxCached) {
		s.size -= len(s.items[0].data)
		s.items = slices.Delete(s.items, 0, 1)
	}
	return link(name, mime, title, int64(len(data)))
}

func (s *resourceCache) find(name string) (cachedResource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.items, func(i cachedResource) bool { return i.name == name })
	if i < 0 {
		return cachedResource{}, false
	}
	return s.items[i], true
}

// link is a resource of the session as a result has it.
func link(name, mime, title string, size int64) mcp.ResourceLink {
	l := mcp.NewResourceLink(sessionURI+escaped(name), title, "", mime)
	l.Size = &size
	return l
}

func escaped(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// fileType is the media type of a file by its name.
func fileType(name string) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// addSession has the server read what the session keeps.
func (b *Bridge) addSession(s *server.MCPServer) {
	template := mcp.NewResourceTemplate(sessionURI+"{+path}", "session",
		mcp.WithTemplateDescription("what a run_python result links to"))
	s.AddResourceTemplate(template, func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return b.session.read(ctx, r.Params.URI)
	})
}

// read is what resources/read answers.
func (s *session) read(ctx context.Context, uri string) ([]mcp.ResourceContents, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(uri, sessionURI))
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", clip(uri), err)
	}
	if item, ok := s.files.find(name); ok {
		return contents(uri, item.mime, item.data), nil
	}
	file, ok := strings.CutPrefix(name, workspace)
	if !ok {
		return nil, fmt.Errorf("resource %q: not there; what a session keeps makes room for what is newer", clip(uri))
	}
	data, err := s.box.read(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", clip(uri), err)
	}
	return contents(uri, fileType(file), data), nil
}

// contents are data as text if they are, else as base64.
func contents(uri, kind string, data []byte) []mcp.ResourceContents {
	if utf8.Valid(data) && !slices.Contains(data, 0) {
		if kind == "application/octet-stream" {
			kind = "text/plain"
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: string(data)}}
	}
	if kind == "application/octet-stream" {
		kind = http.DetectContentType(data)
	}
	return []mcp.ResourceContents{mcp.BlobResourceContents{URI: uri, MIMEType: kind, Blob: base64.StdEncoding.EncodeToString(data)}}
}
