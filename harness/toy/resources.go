package toy

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// pixel is a PNG image of one pixel, in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// resources are those that are listed: a text with a secret in it, an image,
// bytes, one of two parts, and one that cannot be read. Each that is read adds a
// line to the log.
func resources() []server.ServerResource {
	contents := func(uri, kind string, parts ...mcp.ResourceContents) server.ServerResource {
		return server.ServerResource{Resource: mcp.NewResource(uri, uri[strings.LastIndex(uri, "/")+1:], mcp.WithMIMEType(kind)), Handler: func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			record("TOY_LOG", "toy.log", "read "+uri)
			if len(parts) == 0 {
				return nil, fmt.Errorf("%s cannot be read", uri)
			}
			return parts, nil
		}}
	}
	text := func(uri, text string) mcp.ResourceContents {
		return mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: text}
	}
	blob := func(uri, kind, data string) mcp.ResourceContents {
		return mcp.BlobResourceContents{URI: uri, MIMEType: kind, Blob: data}
	}
	return []server.ServerResource{
		contents("toy://text", "text/plain", text("toy://text", "a text with key sk-1234")),
		contents("toy://pixel", "image/png", blob("toy://pixel", "image/png", pixel)),
		contents("toy://bytes", "application/octet-stream", blob("toy://bytes", "application/octet-stream", base64.StdEncoding.EncodeToString([]byte{0, 255, 1}))),
		contents("toy://both", "text/plain", text("toy://both/1", "one"), blob("toy://both/2", "application/octet-stream", "Ag==")),
		contents("toy://odd", "image/png", blob("toy://odd", "image/png", "AA")),
		contents("toy://none", "text/plain"),
	}
}

// note gives any note back by its name.
func note(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	record("TOY_LOG", "toy.log", "read "+req.Params.URI)
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "note " + strings.TrimPrefix(req.Params.URI, "toy://notes/")}}, nil
}
