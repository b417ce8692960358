package mcpserver

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// opened notes a connection that a request has opened or used; id is "" where it has not.
func (c *connections) opened(id, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := (connection{id, owner}); id != "" && !slices.Contains(c.open, one) {
		c.open = append(c.open, one)
	}
}

// room makes room for a connection, and reports whether there is any. Who has a single one keeps it.
func (c *connections) room(s *Server) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	live, count := map[string]*mcp.ServerSession{}, 0
	for session := range s.server.Sessions() {
		live[session.ID()] = session
		count++
	}
	c.open = slices.DeleteFunc(c.open, func(one connection) bool { return live[one.id] == nil })
	if count < s.options.MaxConnections {
		return true
	}
	held, most := map[string]int{}, 0
	for _, one := range c.open {
		held[one.owner]++
		most = max(most, held[one.owner])
	}
	if most < 2 {
		return false
	}
	i := slices.IndexFunc(c.open, func(one connection) bool { return held[one.owner] == most })
	gone := c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	go func() { // ends with the requests of the connection
		if err := live[gone.id].Close(); err != nil {
			s.options.Logger.Debug("a connection was not closed in order", "error", err)
		}
	}()
	return true
}
