package view

import (
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
)

// toolDeclarations names the files that declare what guests call through tools:
// one for each tool, and an index. A tool that has a function is in
// tools/<function>.d.ts. One without, because its name is shared or taken, is
// in tools/<owner>/<name>.d.ts, and so is one with the name of the index.
func (v *View) toolDeclarations() []declaration {
	functions := make(map[string]string) // by id
	for name, id := range v.Catalog.SafeNames() {
		functions[id] = name
	}
	var list []declaration
	var named []declare.Named
	taken := make(map[string]bool)
	for _, t := range v.Catalog.Tools() {
		if t.Source == catalog.SourceMCP {
			continue
		}
		function := functions[t.ID()]
		path := toolPath(t, function, taken)
		taken[path] = true
		named = append(named, declare.Named{Tool: t, Function: function, Path: path})
		list = append(list, declaration{
			path:        path,
			description: declare.Summary(t),
			tool:        t,
			render:      func() []byte { return declare.Tool(t, function) },
		})
	}
	if len(list) == 0 {
		return nil
	}
	return append(list, declaration{
		path:        "tools/index.d.ts",
		description: "All tools, each with the file that declares it.",
		render:      func() []byte { return declare.Index(named) },
	})
}

// toolPath returns the path of a tool's file, which is not taken.
func toolPath(t *catalog.Tool, function string, taken map[string]bool) string {
	const dir, suffix = "tools/", ".d.ts"
	if function != "" && function != "index" {
		return dir + function + suffix
	}
	path := dir + catalog.SafeName(t.Owner) + "/" + catalog.SafeName(t.Name)
	for taken[path+suffix] {
		path += "_"
	}
	return strings.TrimSpace(path) + suffix
}
