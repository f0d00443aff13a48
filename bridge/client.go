package bridge

import (
	"github.com/mark3labs/mcp-go/mcp"
)

// This file is the connection as the library wants a session to be: greeted,
// with a client that has capabilities, and with notifications that, since
// 2026-07-28, are asked for.

func (c *conn) Initialize() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initialized = true
}

func (c *conn) Initialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

func (c *conn) GetClientInfo() mcp.Implementation { return mcp.Implementation{} }
func (c *conn) SetClientInfo(mcp.Implementation)  {}

func (c *conn) GetClientCapabilities() mcp.ClientCapabilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

func (c *conn) SetClientCapabilities(client mcp.ClientCapabilities) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

func (c *conn) SetSubscriptionFilter(wanted mcp.SubscriptionFilter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = wanted
}

// SubscriptionFilter keeps the library's own notifications from an agent that
// has to ask for them: toolsChanged sends those, each with what it answers to.
func (c *conn) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return mcp.SubscriptionFilter{}, !c.greeted
}

// toolsChanged tells an agent that listens that the tool is described anew. The
// library tells one that has greeted the bridge.
func (c *conn) toolsChanged() {
	c.mu.Lock()
	wanted, id := c.wanted.ToolsListChanged && !c.greeted, c.listen
	c.mu.Unlock()
	if wanted {
		c.send(outgoing{JSONRPC: mcp.JSONRPC_VERSION, Method: mcp.MethodNotificationToolsListChanged,
			Params: map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: id}}})
	}
}

func (c *conn) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.notes }
func (c *conn) SessionID() string                                   { return "stdio" }
