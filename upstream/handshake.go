package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// handshake opens the session, in the era of initialize or, if the server
// refuses that, in the one of 2026-07-28. The older one goes first: every
// server but very few speaks it, and its requests are half the size.
func (c *conn) handshake(ctx context.Context) error {
	self := map[string]string{"name": "bridge", "version": version()}
	none := map[string]any{}
	_, err := c.request(ctx, string(mcp.MethodInitialize), map[string]any{
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
		if _, modern := c.request(ctx, string(mcp.MethodServerDiscover), listParams{Meta: meta}); modern != nil {
			// That the server refused the first is the better reason, unless
			// the second was the end of it.
			if errors.As(modern, new(*rpcError)) {
				return err
			}
			return modern
		}
		c.meta = meta
		c.over.Go(c.listen)
		return nil
	case err != nil:
		return err
	}
	// Should the server have ended by now, the first request tells it better.
	c.wire.SendNotification(ctx, mcp.JSONRPCNotification{
		JSONRPC:      mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: string(mcp.MethodNotificationInitialized)},
	})
	return nil
}

// listen asks for notifications of changed catalogs, which since 2026-07-28
// come only to those who do. The request lasts as long as the connection.
func (c *conn) listen() {
	c.request(c.life, string(mcp.MethodSubscriptionsListen), map[string]any{
		"notifications": map[string]any{"toolsListChanged": true},
		"_meta":         c.meta,
	})
}

// asked answers a request of the server. The bridge declares no capability, so
// that a ping is all that a server may ask for.
func (c *conn) asked(_ context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if req.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage("{}")), nil
	}
	return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "bridge does not offer "+req.Method, nil), nil
}

// version is the bridge's own, as the servers are told.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
