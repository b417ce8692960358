package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
)

// syncDirect makes the direct tools again of what the host has now.
func (s *Server) syncDirect() {
	d := &s.direct
	d.mu.Lock()
	defer d.mu.Unlock()
	now := s.findDirect()
	var gone []string
	for name := range d.byName {
		if _, still := now[name]; !still {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		s.server.RemoveTools(gone...)
	}
	for name, t := range now {
		if d.byName[name].print != t.print {
			s.server.AddTool(t.definition, s.callDirect(t.id))
		}
	}
	d.byName = now
}

// sees reports whether a session may see a tool of the server. A tool that is not a
// direct one of the host is everyone's.
func (s *Server) sees(caller host.Session, name string) bool {
	s.direct.mu.Lock()
	t, ok := s.direct.byName[name]
	s.direct.mu.Unlock()
	if !ok {
		return true
	}
	if _, err := s.host.Catalog(caller).Tool(t.id); err == nil {
		return true
	}
	return slices.ContainsFunc(s.host.Catalog(caller).DirectTools(), func(d catalog.Tool) bool { return d.ID() == t.id })
}

// findDirect returns the direct tools by the names under which clients call them.
func (s *Server) findDirect() map[string]directTool {
	everyone := host.Session{}
	found := map[string]catalog.Description{} // by id
	for _, t := range s.host.Catalog(everyone).DirectTools() {
		found[t.ID()] = catalog.Description{Entry: catalog.Entry{ID: t.ID(), Name: t.Name, Label: t.Label, Description: t.Description, SourceName: t.Owner}, Parameters: t.Parameters}
	}
	missed := map[string]bool{}
	entries := s.host.Catalog(everyone).Tools()
	for _, wanted := range s.options.Direct {
		var ids []string
		for _, e := range entries {
			if e.ID == wanted || e.Name == wanted {
				ids = append(ids, e.ID)
			}
		}
		if len(ids) != 1 {
			missed[wanted] = true
			if !s.direct.missed[wanted] {
				s.options.Logger.Warn("a tool that clients are to see directly is not there: expected the id of one tool, or a name that only one has; it is shown once it comes", "tool", wanted, "found", len(ids))
			}
			continue
		}
		if s.direct.missed[wanted] { // such as one of a plugin that was still to start
			s.options.Logger.Info("a tool that clients are to see directly has come", "tool", wanted)
		}
		d, err := s.host.Catalog(everyone).Tool(ids[0])
		if err != nil { // it has gone this moment: there will be another change
			continue
		}
		found[d.ID] = *d
	}
	s.direct.missed = missed
	return s.named(found)
}

// badInName matches what the names of tools must not have in MCP.
var badInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// named gives each tool a name that no other has: its own name, with its owner's name in front
// where several tools have the same name.
func (s *Server) named(found map[string]catalog.Description) map[string]directTool {
	byName := map[string][]catalog.Description{modeltools.Exec: {{}}, modeltools.Wait: {{}}}
	for _, d := range found {
		name := badInName.ReplaceAllString(d.Name, "_")
		byName[name] = append(byName[name], d)
	}
	out := map[string]directTool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		ds := byName[name]
		slices.SortFunc(ds, func(a, b catalog.Description) int { return cmp.Compare(a.ID, b.ID) })
		for _, d := range ds {
			if d.ID == "" {
				continue // exec and wait
			}
			unique := name
			if len(ds) > 1 {
				unique = badInName.ReplaceAllString(cmp.Or(d.SourceName, catalog.OwnerCore), "_") + "_" + name
			}
			if len(unique) > 128 || len(byName[unique]) > 0 && unique != name || out[unique].id != "" {
				s.options.Logger.Warn("a tool that clients are to see directly is not shown: it has no name of its own", "tool", d.ID)
				continue
			}
			t := &mcp.Tool{Name: unique, Title: d.Label, Description: d.Description, InputSchema: objectSchema(d.Parameters)}
			out[unique] = directTool{id: d.ID, definition: t, print: d.ID + "\n" + d.Label + "\n" + d.Description + "\n" + string(d.Parameters)}
		}
	}
	return out
}

// objectSchema is the schema of an input that the SDK takes: one of an object.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(schema, &m) != nil || m == nil {
		m = map[string]json.RawMessage{}
	}
	if string(m["type"]) == `"object"` {
		return schema
	}
	m["type"] = json.RawMessage(`"object"`)
	b, err := json.Marshal(m)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return b
}

// callDirect returns the handler of a direct tool. The call is one of a program, so that
// nothing that holds for programs is passed by.
func (s *Server) callDirect(id string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := s.newCall(ctx, req)
		// A tool may take longer than a program; a client that does not wait goes away.
		c.result, c.patient, c.direct = directResult, true, true
		return c.perform(ctx, func(ctx context.Context) *host.Result {
			if slotOf(ctx) != nil { // it becomes a task soon
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.wait)
				defer cancel()
			}
			return s.host.CallTool(ctx, c.caller, id, arguments(req))
		})
	}
}
