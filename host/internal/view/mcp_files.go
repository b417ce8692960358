package view

import (
	"encoding/json"
	"strings"

	"github.com/quoinhq/quoin/host/internal/declare"
)

// The virtual files behind the global MCP.
const (
	FileMCP   = "mcp.json"
	PrefixMCP = "mcp/"
	fileOfAPI = "api.json"

	filesOfTools = "tools"
)

// MCPFile serves the files behind MCP: the servers, the functions of one, and what
// $api says of all or one of them.
//
//	mcp.json                    {servers: [{identifier, serverName}]}
//	mcp/<server>.json           {tools: [{identifier, name, operation?}], more?}
//	mcp/<server>/tools          {tools: [{identifier, name}]}, without operations
//	mcp/<server>/tools/<name>   {identifier, name} of one tool, by either
//	mcp/<server>/api.json       {tools: [{method, path, mcpTool, operation?, description}]}
//	mcp/<server>/<path>.d.ts    the declaration of one function
//	mcp/<server>/<path>.json    {input, output?}, its schemas
func (v *View) MCPFile(path string) (data []byte, found bool) {
	if path == FileMCP {
		return v.mcpList(), true
	}
	path, ok := strings.CutPrefix(path, PrefixMCP)
	if !ok {
		return nil, false
	}
	server, path, nested := strings.Cut(path, "/")
	if !nested {
		server, ok = strings.CutSuffix(server, ".json")
	}
	s := v.mcpServer(server)
	switch {
	case !ok || s == nil:
		return nil, false
	case !nested:
		return s.list(), true
	case path == filesOfTools:
		return mustJSON(map[string]any{"tools": s.listed(false)}), true
	case path == fileOfAPI:
		return s.api(), true
	}
	if name, ok := strings.CutPrefix(path, filesOfTools+"/"); ok {
		t := s.named(name)
		if t == nil {
			return nil, false
		}
		return mustJSON(t.listed()), true
	}
	for i := range s.tools {
		t := &s.tools[i]
		switch path {
		case t.path() + ".d.ts":
			return declare.MCP(s.identifier, s.name, s.declared(t)), true
		case t.path() + ".json":
			return t.schemas(), true
		}
	}
	return nil, false
}

// mcpServer returns the server of that identifier, or nil.
func (v *View) mcpServer(identifier string) *mcpServer {
	servers := v.mcp()
	for i := range servers {
		if servers[i].identifier == identifier {
			return &servers[i]
		}
	}
	return nil
}

func (v *View) mcpList() []byte {
	type entry struct {
		Identifier string `json:"identifier"`
		ServerName string `json:"serverName"`
	}
	list := []entry{}
	for _, s := range v.mcp() {
		list = append(list, entry{s.identifier, s.name})
	}
	return mustJSON(map[string]any{"servers": list})
}

// listedFunction is what the guest makes a function of.
type listedFunction struct {
	Identifier string `json:"identifier"` // a function of a group has one with a dot
	Name       string `json:"name"`
	Operation  string `json:"operation,omitempty"`
}

func (t *mcpFunction) listed() listedFunction {
	return listedFunction{t.path(), t.tool.Name, t.operation()}
}

// maxListed is how many tools of a server a guest learns of at once. One that needs one of
// ten thousand would take longer for the others than for its program.
const maxListed = 200

// list names the functions of a server: if there are too many, the operations alone, and
// that there are more.
func (s *mcpServer) list() []byte {
	if len(s.tools) <= maxListed {
		return mustJSON(map[string]any{"tools": append(s.listed(false), s.listed(true)...)})
	}
	return mustJSON(map[string]any{"tools": s.listed(true), "more": true})
}

// listed names the tools of a server, or its operations.
func (s *mcpServer) listed(operations bool) []listedFunction {
	list := []listedFunction{}
	for i := range s.tools {
		if t := &s.tools[i]; (t.group != "") == operations {
			list = append(list, t.listed())
		}
	}
	return list
}

func (t *mcpFunction) operation() string {
	if t.group == "" {
		return ""
	}
	return t.tool.Name
}

// api is what $api says of the functions of a server, without their types.
func (s *mcpServer) api() []byte {
	type entry struct {
		Method      string `json:"method"`
		Path        string `json:"path"`
		MCPTool     string `json:"mcpTool"`
		Operation   string `json:"operation,omitempty"`
		Description string `json:"description"`
	}
	list := make([]entry, 0, len(s.tools))
	for i := range s.tools {
		t := &s.tools[i]
		list = append(list, entry{t.method, t.path(), t.tool.Name, t.operation(), declare.Summary(t.tool)})
	}
	return mustJSON(map[string]any{"tools": list})
}

// schemas returns the schemas of one function.
func (t *mcpFunction) schemas() []byte {
	type schemas struct {
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output,omitempty"`
	}
	s := schemas{t.tool.Parameters, t.tool.Output}
	if !json.Valid(s.Input) {
		s.Input = json.RawMessage("{}")
	}
	if !json.Valid(s.Output) {
		s.Output = nil
	}
	return mustJSON(s)
}

// declared are functions as package declare knows them: those given, else all.
func (s *mcpServer) declared(only ...*mcpFunction) []declare.Method {
	var out []declare.Method
	for i := range s.tools {
		t := &s.tools[i]
		if len(only) > 0 && t != only[0] {
			continue
		}
		out = append(out, declare.Method{Group: t.group, Name: t.method, Tool: t.tool})
	}
	return out
}

// declareMCP names the declaration files of a view's servers.
func (v *View) declareMCP() []declaration {
	servers := v.mcp()
	if len(servers) == 0 {
		return nil
	}
	list := []declaration{{
		path:        "mcp/index.d.ts",
		description: "Which MCP servers there are, and what their tools return.",
		render:      func() []byte { return declare.MCPIndex(v.mcpLines()) },
	}}
	for i := range servers {
		s := &servers[i]
		list = append(list, declaration{
			path:        "mcp/" + s.identifier + ".d.ts",
			description: "The functions of MCP." + s.identifier + ".",
			render:      func() []byte { return declare.MCP(s.identifier, s.name, s.declared()) },
		})
	}
	return list
}

// mcpLines describes each server in a line.
func (v *View) mcpLines() []string {
	var lines []string
	for _, s := range v.MCPServers() {
		lines = append(lines, s.Line())
	}
	return lines
}

// mustJSON encodes what always can be: strings, and schemas that the catalog has
// taken as JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("host: what is JSON already cannot be encoded: " + err.Error())
	}
	return b
}
