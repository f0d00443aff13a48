package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// handshake opens the session, in the era of initialize or, if the server
// refuses that, in the one of 2026-07-28. The older one goes first: every
// server but very few speaks it, and its requests are half the size.
func (c *conn) handshake(ctx context.Context) error {
	if err := c.transport.open(ctx); err != nil {
		return err
	}
	self := map[string]string{"name": "bridge", "version": version()}
	none := map[string]any{}
	answer, err := c.request(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION,
		"clientInfo":      self,
		"capabilities":    none,
	})
	var refusal *rpcError
	switch {
	case errors.As(err, &refusal):
		meta := map[string]any{
			mcp.MetaKeyProtocolVersion:    mcp.ProtocolVersion20260728,
			mcp.MetaKeyClientInfo:         self,
			mcp.MetaKeyClientCapabilities: none,
		}
		c.transport.agreed(mcp.ProtocolVersion20260728)
		if _, modern := c.request(ctx, string(mcp.MethodServerDiscover), listParams{Meta: meta}); modern != nil {
			// That the server refused the first is the better reason, unless
			// the second was the end of it.
			if errors.As(modern, new(*rpcError)) {
				return err
			}
			return modern
		}
		c.meta = meta
		c.spawn(c.listen)
		return nil
	case err != nil:
		return err
	}
	var said struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(answer, &said) == nil && said.ProtocolVersion != "" {
		c.transport.agreed(said.ProtocolVersion)
	}
	// Should the server have ended by now, the first request tells it better.
	c.transport.notify(ctx, string(mcp.MethodNotificationInitialized), nil)
	c.spawn(func() { c.transport.listen(c.life) })
	return nil
}

// listen asks for notifications of changed catalogs, which since 2026-07-28
// come only to those who do. The request lasts as long as the connection; one
// that ends before is made again, and what changed meanwhile is not known.
func (c *conn) listen() {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		_, err := c.request(c.life, string(mcp.MethodSubscriptionsListen), map[string]any{
			"notifications": map[string]any{"toolsListChanged": true},
			"_meta":         c.meta,
		})
		if errors.As(err, new(*rpcError)) || !c.pause(c.life, wait) {
			return
		}
		c.changes.Add(1)
	}
}

// pause waits, and tells whether the connection is still of use.
func (c *conn) pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-c.dead:
	case <-ctx.Done():
	}
	return false
}

// version is the bridge's own, as the servers are told.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
