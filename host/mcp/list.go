package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errEndless means that a server's list has no end; what came so far is kept.
var errEndless = errors.New("the list goes on without end")

// listTools asks for all tools, page by page, and keeps those that are usable.
func (c *connection) listTools(ctx context.Context) (*listing, error) {
	l := c.listing()
	if c.api != nil {
		l.described(c.api)
	} else if err := l.served(ctx, c); err != nil {
		return nil, err
	}
	l.rename()
	slices.SortStableFunc(l.left, func(a, b LeftOut) int { return cmp.Compare(b.Count, a.Count) })
	return l, nil
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
	if caps.Tools != nil && caps.Tools.ListChanged {
		l.stale = 0 // the server tells of changes
	}
	if c.server.Session != nil {
		l.stale = max(l.stale, 1) // but not us: read it again as often as may be
	}
	return nil
}

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
	if json.Unmarshal(page.TTL, &ms) == nil && ms > 0 && (l.stale == 0 || milliseconds(ms) < l.stale) {
		l.stale = milliseconds(ms)
	}
	for _, t := range page.Tools {
		if l.full() {
			return new("more"), nil
		}
		l.add(t)
	}
	return page.NextCursor, nil
}
