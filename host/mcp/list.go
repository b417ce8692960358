package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/text"
)

// The bounds of one server's list of tools.
const (
	maxTools        = 10_000
	maxPages        = 1000
	maxListBytes    = 32 << 20
	maxSchemaBytes  = 256 << 10
	maxTitle        = 256
	maxDescription  = 16 << 10
	maxCursor       = 64 << 10
	maxListWarnings = 20 // lines of the log about one list
)

// errEndless means that a server's list has no end; what came so far is kept.
var errEndless = errors.New("the list goes on without end")

// listing gathers the tools of one server.
type listing struct {
	server   *Server
	log      *slog.Logger
	tools    []Tool
	offered  pinnedTools // also those that are not permitted, or not usable
	bytes    int
	left     []LeftOut
	ttl      time.Duration   // how long the server says the list is good for; 0 if it does not
	callable map[string]bool // of the page, by the headers that calls would need; nil if that does not count
}

// listTools asks for all tools, page by page, and keeps those that are usable.
func (c *connection) listTools(ctx context.Context) ([]Tool, pinnedTools, error) {
	l := &listing{server: c.server, log: c.log, offered: pinnedTools{}}
	if c.api != nil {
		l.described(c.api)
	} else if err := l.served(ctx, c); err != nil {
		return nil, nil, err
	}
	l.rename()
	c.left = l.left
	slices.SortStableFunc(c.left, func(a, b LeftOut) int { return cmp.Compare(b.Count, a.Count) })
	return l.tools, l.offered, nil
}

// served asks a server for its tools, and adds the operations that it has.
func (l *listing) served(ctx context.Context, c *connection) error {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil {
		caps = &sdk.ServerCapabilities{}
	}
	if caps.Tools != nil {
		if err := l.pages(ctx, c); err != nil {
			return err
		}
	}
	l.operations(caps.Resources != nil, caps.Prompts != nil)
	c.stale = l.ttl
	if caps.Tools != nil && caps.Tools.ListChanged {
		c.stale = 0 // the server tells of changes
	}
	if c.server.Session != nil {
		c.stale = max(c.stale, 1) // but not us: read it again as often as may be
	}
	return nil
}

// full reports whether the list has reached one of its bounds.
func (l *listing) full() bool { return len(l.offered) >= maxTools || l.bytes >= maxListBytes }

// pages reads the list to its end, or to one of its bounds.
func (l *listing) pages(ctx context.Context, c *connection) error {
	cursor, seen := "", map[string]bool{}
	for page := 1; ; page++ {
		var raw json.RawMessage
		var err error
		raw, l.callable, err = c.page(ctx, cursor)
		if err != nil {
			return fmt.Errorf("listing tools: %w", err)
		}
		after, err := l.page(raw)
		if err != nil {
			return fmt.Errorf("listing tools: %w", err)
		}
		next, on := c.sentCursor(after)
		full := l.full()
		switch {
		case !on:
			return nil
		case page == maxPages || full || seen[next] || len(next) > maxCursor:
			l.log.Warn("an MCP server's list of tools was cut", "error", errEndless, "pages", page, "tools", len(l.tools), "bytes", l.bytes)
			return nil
		}
		seen[next] = true
		cursor = next
	}
}

// page asks for one page and returns it as the server sent it. Over a network a tool may
// have its arguments sent as headers too; callable has the tools for which that works.
func (c *connection) page(ctx context.Context, cursor string) (raw json.RawMessage, callable map[string]bool, err error) {
	ctx, answer := withCapture(ctx)
	defer answer.release()
	res, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
	switch {
	case answer.refusal() != nil:
		return nil, nil, answer.refusal()
	case answer.taken() != nil:
		raw = answer.taken()
	case err != nil:
		return nil, nil, err
	default:
		raw, err = json.Marshal(res) // from the session's own store of answers
		return raw, nil, err
	}
	if err == nil && c.guard != nil {
		callable = map[string]bool{}
		for _, t := range res.Tools {
			callable[t.Name] = true
		}
	}
	return raw, callable, nil
}

// page takes the tools of one page, and returns where the next one starts.
func (l *listing) page(raw json.RawMessage) (next *string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor *string           `json:"nextCursor"`
		TTL        json.RawMessage   `json:"ttlMs"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("the page is not one: %w", err)
	}
	var ms int64
	if json.Unmarshal(page.TTL, &ms) == nil && ms > 0 && (l.ttl == 0 || milliseconds(ms) < l.ttl) {
		l.ttl = milliseconds(ms)
	}
	for _, t := range page.Tools {
		if l.full() {
			return new("more"), nil
		}
		l.add(t)
	}
	return page.NextCursor, nil
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
	// A name is the first one's that has it, whatever becomes of that one: its pin must not
	// be that of another tool.
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

// anyObject is the schema of a tool that does not declare one.
var anyObject = json.RawMessage(`{"type":"object"}`)

// inputSchema returns the schema of a tool's argument, and what of it could not be read.
func inputSchema(raw json.RawMessage) (schema json.RawMessage, unread []string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return anyObject, nil
	case len(raw) > maxSchemaBytes:
		return anyObject, []string{fmt.Sprintf("it has %d bytes, and the limit is %d", len(raw), maxSchemaBytes)}
	}
	return repairSchema(compact(raw))
}

// outputSchema returns the schema of a tool's structured content, if it is one.
func outputSchema(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(raw) > maxSchemaBytes || raw[0] != '{' {
		return nil
	}
	return compact(raw)
}

// compact returns valid JSON without spaces, in memory of its own.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return bytes.Clone(raw) // cannot happen: it was decoded before
	}
	return b.Bytes()
}
