package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/jsonschema"
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

// pages reads the list to its end, or to one of its bounds. A page after the first that the
// server refuses, or that cannot be read, costs only the tools from there on.
func (l *listing) pages(ctx context.Context, c *connection) error {
	cursor, seen := "", map[string]bool{}
	for page := 1; ; page++ {
		after, err := l.read(ctx, c, cursor, page)
		switch {
		case err != nil && page > 1 && ctx.Err() == nil && stays(err):
			l.leaveOut(fmt.Sprintf("the tools from page %d on", page), "the server did not send the page of its list: "+bounded(err.Error(), maxErrorText))
			return nil
		case isUnknownMethod(err):
			l.leaveOut("all tools", "the server does not know tools/list")
			return nil
		case err != nil:
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

// read reads one page, and returns where the next one starts.
func (l *listing) read(ctx context.Context, c *connection, cursor string, page int) (next *string, err error) {
	var raw json.RawMessage
	if raw, l.callable, err = c.page(ctx, cursor); err != nil {
		return nil, err
	}
	return l.page(raw, page)
}

// isUnknownMethod reports whether a server refuses a request because it does not know it.
func isUnknownMethod(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound
}

// stays reports whether a page would fail in the same way if the server were connected again.
func stays(err error) bool {
	var rpc *jsonrpc.Error
	var own *Error
	switch {
	case errors.Is(err, errNoPage):
		return true
	case errors.As(err, &own):
		return own.Code != CodeClosed && !own.Retryable && !own.Unknown
	}
	return errors.As(err, &rpc) && rpc.Code != codeTransport
}

// page asks for one page and returns it as the server sent it. Over a network a tool may
// have its arguments sent as headers too; callable has the tools for which that works.
func (c *connection) page(ctx context.Context, cursor string) (raw json.RawMessage, callable map[string]bool, err error) {
	ctx, answer := withCapture(ctx)
	defer answer.release()
	answer.deep = true
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

// errNoPage means that an answer has no list of tools.
var errNoPage = errors.New("the page is not one")

// page takes the tools of one page, and returns where the next one starts.
func (l *listing) page(raw json.RawMessage, number int) (next *string, err error) {
	var page struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor json.RawMessage `json:"nextCursor"`
		TTL        json.RawMessage `json:"ttlMs"`
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		page.Tools = raw
	} else if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoPage, err)
	}
	var ms int64
	if json.Unmarshal(page.TTL, &ms) == nil && ms > 0 && (l.stale == 0 || milliseconds(ms) < l.stale) {
		l.stale = milliseconds(ms)
	}
	tools, ok := elements(page.Tools)
	if !ok {
		return nil, fmt.Errorf("%w: its tools are %s", errNoPage, bounded(string(page.Tools), 100))
	}
	for _, t := range tools {
		if l.full() {
			return new("more"), nil
		}
		l.add(t)
	}
	if page.NextCursor == nil {
		return nil, nil
	}
	if err := json.Unmarshal(page.NextCursor, &next); err != nil {
		l.leaveOut(fmt.Sprintf("the tools after page %d", number), "the nextCursor of the page must be a text, and is "+bounded(string(page.NextCursor), 100))
		return nil, nil
	}
	return next, nil
}

// elements returns the elements of a list. PHP writes a list with holes as an object.
func elements(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	if len(raw) == 0 || json.Unmarshal(raw, &list) == nil {
		return list, true
	}
	object := jsonschema.Bounds{Bytes: maxMessage, Values: maxValues, Nesting: maxListDepth}.Parse(raw).Root()
	for _, m := range object.Fields() {
		list = append(list, m.Value.Raw)
	}
	return list, object.Is(jsonschema.Object)
}
