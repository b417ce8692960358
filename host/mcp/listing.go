package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
)

// listing gathers the tools of one server.
type listing struct {
	server   *Server
	log      *slog.Logger
	tools    []Tool
	offered  pinnedTools // also those that are not permitted, or not usable
	bytes    int
	left     []LeftOut
	stale    time.Duration   // after which the list has to be read again; 0 for never
	callable map[string]bool // of the page, by the headers that calls would need; nil if that does not count
}

// offered is a tool as a server declares it. Every field is checked.
type offered struct {
	Name         json.RawMessage `json:"name"`
	Title        json.RawMessage `json:"title"`
	Description  json.RawMessage `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// full reports whether the list has reached one of its bounds.
func (l *listing) full() bool { return len(l.offered) >= maxTools || l.bytes >= maxListBytes }

// add keeps a tool if it is usable and permitted.
func (l *listing) add(raw json.RawMessage) {
	var o offered
	if json.Unmarshal(raw, &o) != nil {
		l.leaveOut("", "it is not an object")
		return
	}
	name := textOf(o.Name)
	switch {
	case !usableName(name):
		l.leaveOut(name, "its name must be 1 to 256 printable bytes without spaces around them")
		return
	}
	// A name belongs to the first tool that has it, even if that tool is left out: its pin
	// must not be the pin of another tool.
	twice := l.offered.has(name)
	if !twice {
		l.offered[name] = pinnedOf(o)
		l.bytes += len(raw)
	}
	switch {
	case twice:
		l.leaveOut(name, "the server has another tool of that name")
		return
	case l.callable != nil && !l.callable[name]:
		l.leaveOut(name, "its input schema has an x-mcp-header that is not valid")
		return
	case !l.server.permits(name):
		return
	}
	t := Tool{
		Server:      l.server.Name,
		Name:        name,
		Title:       strings.TrimSpace(bounded(textOf(o.Title), maxTitle)),
		Description: bounded(textOf(o.Description), maxDescription),
	}
	var places []string
	if t.Input, places = inputSchema(o.InputSchema); len(places) > 0 {
		l.leaveOut(unread(name, places), unreadParts)
	}
	if isOperation(name) {
		t.offered = name
	}
	t.Output = outputSchema(o.OutputSchema)
	l.hints(&t, o.Annotations)
	l.tools = append(l.tools, t)
}

// rename gives the tools with the names of operations names that no other has.
func (l *listing) rename() {
	for i := range l.tools {
		t := &l.tools[i]
		if t.offered == "" {
			continue
		}
		t.Name = t.offered + "_tool"
		for l.offered.has(t.Name) {
			t.Name += "_"
		}
	}
}

// hints takes the annotations of a tool.
func (l *listing) hints(t *Tool, raw json.RawMessage) {
	var a struct {
		Title           json.RawMessage `json:"title"`
		ReadOnlyHint    json.RawMessage `json:"readOnlyHint"`
		IdempotentHint  json.RawMessage `json:"idempotentHint"`
		DestructiveHint json.RawMessage `json:"destructiveHint"`
	}
	if json.Unmarshal(raw, &a) != nil {
		return
	}
	if t.Title == "" {
		t.Title = strings.TrimSpace(bounded(textOf(a.Title), maxTitle))
	}
	if l.server.TrustHints {
		t.ReadOnly = string(a.ReadOnlyHint) == "true"
		t.Idempotent = t.ReadOnly || string(a.IdempotentHint) == "true"
	}
}

// operations adds what the server's capabilities allow. They are pinned, too.
func (l *listing) operations(resources, prompts bool) {
	for _, op := range operationsOf(l.server.Name, resources, prompts) {
		l.offered[operationPins[op.Operation]] = pinnedTool{}
		if l.server.permits(op.Name) {
			l.tools = append(l.tools, op)
		}
	}
}

// leaveOut notes why a tool is not used.
func (l *listing) leaveOut(name, why string) {
	if len(l.left) >= maxReasons-1 {
		why = "there are too many reasons to tell them apart"
	}
	i := slices.IndexFunc(l.left, func(o LeftOut) bool { return o.Reason == why })
	if i < 0 {
		i = len(l.left)
		l.left = append(l.left, LeftOut{Reason: why, Parts: why == unreadParts})
	}
	if l.left[i].Count++; l.left[i].Count <= maxLeftOut {
		l.left[i].Tools = append(l.left[i].Tools, bounded(name, 300))
	}
}

// pinnedOf is what is pinned of a tool.
func pinnedOf(o offered) pinnedTool {
	return pinnedTool{
		Title: canonical(o.Title), Description: canonical(o.Description), InputSchema: canonical(o.InputSchema),
		OutputSchema: canonical(o.OutputSchema), Annotations: canonical(o.Annotations),
	}
}

// inputSchema returns the schema of a tool's argument, and what of it could not be read.
func inputSchema(raw json.RawMessage) (schema json.RawMessage, unread []string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return anyObject, nil
	case len(raw) > maxSchemaBytes:
		return anyObject, []string{fmt.Sprintf("it has %d bytes, and the limit is %d", len(raw), maxSchemaBytes)}
	}
	if err := inspect(raw); err != nil {
		return anyObject, []string{strings.TrimSuffix(err.Error(), ".")}
	}
	return repairSchema(compact(raw))
}

// outputSchema returns the schema of a tool's structured content, if it is one.
func outputSchema(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(raw) > maxSchemaBytes || raw[0] != '{' || inspect(raw) != nil {
		return nil
	}
	return compact(raw)
}

// textOf returns the string that raw is, else "".
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// usableName reports whether a name can be part of a tool's id. It must be valid
// UTF-8 that prints.
func usableName(name string) bool {
	return name != "" && len(name) <= 256 && strings.TrimSpace(name) == name && text.IsPrintable(name) && !strings.ContainsRune(name, utf8.RuneError)
}
