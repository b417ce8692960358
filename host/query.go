package host

import (
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
)

// Queries are the calls that the catalog alone can answer: searches and
// descriptions. A guest can ask thousands of them at once, and each costs the host
// time and the memory of its answer, and both are bounded here.

// maxQueryBytes bounds the answers to queries that wait for their guest: what one
// turn carries. A single answer may be larger.
const maxQueryBytes = maxTurnBytes

// answerAll answers queries while there is time, and room for their answers. The
// others reject. At most half of the time that is left goes to the catalog: the program
// needs the rest to take the answers, and would be blamed for the time otherwise.
func (d *driver) answerAll(queries []*entry) {
	if len(queries) == 0 {
		return
	}
	r := d.run
	room := maxQueryBytes - r.calls.waitingBytes()
	began := time.Now()
	until := halfway(began, d.deadline)
	if most := began.Add(r.engine.maxQueryTime); most.Before(until) {
		until = most
	}
	defer func() { r.calls.countQueries(time.Since(began)) }()
	for _, e := range queries {
		c := &call{entry: e, run: r, budget: queryBudget{until, room}}
		watch := queryWatch{time.Now()}
		for i := range r.engine.pipelines.query {
			r.engine.pipelines.query[i].step(d.ctx, c, watch)
		}
		room -= len(c.value)
	}
}

// queryBudget is what the answer to one query may cost.
type queryBudget struct {
	until time.Time
	room  int // bytes
}

// maxQueryTime bounds what the catalog may take for one turn of a guest.
const maxQueryTime = time.Second

// halfway is the time between two.
func halfway(now, deadline time.Time) time.Time { return now.Add(deadline.Sub(now) / 2) }

// search finds tools. Those of MCP servers say how they are called, since that is not
// through tools.
func (v *view) search(query string, limit int) []catalog.Entry {
	found := v.catalog.Search(query, limit)
	for i := range found {
		if found[i].Source == catalog.SourceMCP {
			found[i].Call = v.mcpSignature(found[i].ID)
		}
	}
	return found
}

// maxSignature bounds what a search says of the input of one MCP tool, in bytes.
const maxSignature = 400

// mcpSignature is the call of an MCP tool with the shape of its input, in a line.
func (v *view) mcpSignature(id string) string {
	tool, ok := v.catalog.ByID(id)
	if !ok {
		return ""
	}
	input := strings.Join(strings.Fields(catalog.Shape(tool.Parameters)), " ")
	if len(input) > maxSignature || input == "unknown" {
		input = "{…}"
	}
	return v.mcpPath(tool) + "(" + input + ")"
}

// entries are those of all tools, each with how it is called.
func (v *view) entries() []catalog.Entry {
	list := v.catalog.Entries()
	for i := range list {
		if tool, ok := v.catalog.ByID(list[i].ID); ok && tool.Source == catalog.SourceMCP {
			list[i].Call = v.mcpPath(tool)
		} else if ok {
			list[i].Call = v.catalog.Call(tool)
		}
	}
	return list
}
