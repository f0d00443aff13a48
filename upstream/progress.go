package upstream

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
)

// Progress is what a server says of a call that is under way.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"` // 0 if it is not known
	Message  string  `json:"message"`
}

// follow has a function hear the progress of one request, until stop is called;
// the meta are those to send with the request. The function runs in the read
// loop and must not wait.
func (c *conn) follow(heard func(Progress)) (meta map[string]any, stop func()) {
	if heard == nil {
		return c.meta, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followed == nil {
		c.followed = map[int64]func(Progress){}
	}
	c.tokens++
	token := c.tokens
	c.followed[token] = heard
	meta = map[string]any{"progressToken": token}
	maps.Copy(meta, c.meta)
	return meta, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.followed, token)
	}
}

// progressed hears a notification of progress.
func (c *conn) progressed(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
		Progress
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	token, err := strconv.ParseInt(string(bytes.Trim(p.Token, `"`)), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	heard := c.followed[token]
	c.mu.Unlock()
	if heard != nil {
		heard(p.Progress)
	}
}
