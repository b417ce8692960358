package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// Pins keeps what the tools of servers have to be. Several processes may use them. The
// lock of plugins is another file because it says what an operator has reviewed, and a
// host never writes it.
type Pins struct{ docs documents.Store }

// NewPins returns the pins that a driver keeps. Their contents are sealed if others can write
// to it. It is for drivers of this module.
func NewPins(docs documents.Store) *Pins { return &Pins{docs} }

// MaxPinBytes bounds the pins of a server, in bytes: a whole list, and what surrounds each
// tool.
const MaxPinBytes = 2 * maxListBytes

// pinsExt is the extension of the documents of pins.
const pinsExt = ".json"

// pins are the pins of one server, in memory if docs is nil.
type pins struct {
	server string
	docs   documents.Store

	mu   sync.Mutex
	kept pinnedTools
}

// of returns the pins of a server. They are in memory if p is nil.
func (p *Pins) of(server string) *pins {
	out := &pins{server: server}
	if p != nil {
		out.docs = p.docs
	}
	return out
}

// pinFile is the text of a file of pins.
type pinFile struct {
	Format int                    `json:"format"`
	Server string                 `json:"server"`
	Tools  map[string]pinFileTool `json:"tools"`
}

// pinFileTool is a tool in a file of pins.
type pinFileTool struct {
	Title        json.RawMessage `json:"title,omitempty"`
	Description  json.RawMessage `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

// pinFormat is the format that this version writes and reads.
const pinFormat = 1

// name is the name of the document.
func (p *pins) name() string { return p.server + pinsExt }

// load returns the pins, nil if the server was never seen.
func (p *pins) load(ctx context.Context) (pinnedTools, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.docs == nil {
		return p.kept, nil
	}
	text, err := p.docs.Read(ctx, p.name())
	return p.parse(documents.Document{Name: p.name(), Content: text, Err: err})
}

// parse returns the pins in a document.
func (p *pins) parse(doc documents.Document) (tools pinnedTools, err error) {
	if errors.Is(doc.Err, fs.ErrNotExist) {
		return nil, nil
	}
	if err = doc.Err; err == nil {
		tools, err = parsePins(doc.Content, p.server)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore the file, or remove it to pin the tools as they are next seen", p.docs.Location(doc.Name), err)
	}
	return tools, nil
}

// store makes tools the pins.
func (p *pins) store(ctx context.Context, tools pinnedTools) error {
	return p.write(tools, func(text []byte) error { return p.docs.Replace(ctx, p.name(), text, time.Time{}) })
}

// start makes tools the pins of a server that is seen first. If another process has seen it by
// then, the error is fs.ErrExist.
func (p *pins) start(ctx context.Context, tools pinnedTools) error {
	return p.write(tools, func(text []byte) error { return p.docs.Create(ctx, p.name(), text, time.Time{}) })
}

// write writes the pins in one of two ways.
func (p *pins) write(tools pinnedTools, write func(text []byte) error) error {
	if tools == nil {
		tools = pinnedTools{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.docs == nil {
		p.kept = tools
		return nil
	}
	text, err := formatPins(tools, p.server)
	if err != nil {
		return err
	}
	return write(text)
}

// others returns the names of the tools of all servers that have pins in the same place,
// so that a tool can be compared with tools of servers that are not connected.
func (p *pins) others(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	if p.docs == nil {
		return out, nil
	}
	docs, err := p.docs.All(ctx, pinsExt)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs[:min(len(docs), maxServers)] {
		other := &pins{server: strings.TrimSuffix(doc.Name, pinsExt), docs: p.docs}
		tools, err := other.parse(doc)
		if err != nil {
			return nil, err
		}
		out[other.server] = tools.names()
	}
	return out, nil
}

// stamp changes when another process has written the pins.
func (p *pins) stamp(ctx context.Context) string {
	if p.docs == nil {
		return ""
	}
	stamp, err := p.docs.Stamp(ctx, p.name())
	if err != nil {
		return err.Error()
	}
	return stamp
}

// parsePins reads a file of pins.
func parsePins(text []byte, server string) (pinnedTools, error) {
	var file pinFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("it is not a file of pins: %w", err)
	}
	switch {
	case file.Format != pinFormat:
		return nil, fmt.Errorf("its format is %d; this version reads %d", file.Format, pinFormat)
	case file.Server != server:
		return nil, fmt.Errorf("it belongs to the server %.80q", file.Server)
	}
	tools := pinnedTools{}
	for name, t := range file.Tools {
		tools[name] = pinnedTool{
			Title: string(compact(t.Title)), Description: string(compact(t.Description)), InputSchema: string(compact(t.InputSchema)),
			OutputSchema: string(compact(t.OutputSchema)), Annotations: string(compact(t.Annotations)),
		}
	}
	return tools, nil
}

// formatPins writes a file of pins, a line per part of a tool, so that it can be reviewed.
func formatPins(tools pinnedTools, server string) ([]byte, error) {
	file := pinFile{Format: pinFormat, Server: server, Tools: map[string]pinFileTool{}}
	for name, t := range tools {
		file.Tools[name] = pinFileTool{
			Title: json.RawMessage(t.Title), Description: json.RawMessage(t.Description), InputSchema: json.RawMessage(t.InputSchema),
			OutputSchema: json.RawMessage(t.OutputSchema), Annotations: json.RawMessage(t.Annotations),
		}
	}
	text, err := jsontext.Marshal(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	if out.Len() > MaxPinBytes {
		return nil, fmt.Errorf("they take %d bytes; at most %d are kept", out.Len(), MaxPinBytes)
	}
	return append(out.Bytes(), '\n'), nil
}

// canonical is JSON text in one form, so that a server that lists the members of an object
// in another order has not changed it. A text with two members of one name is taken as it
// is, because readers differ in which of them they see.
func canonical(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if len(raw) > maxSchemaBytes {
		sum := sha256.Sum256(compact(raw))
		return `"sha256:` + hex.EncodeToString(sum[:]) + `"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return quoted(raw) // cannot happen: it was decoded before
	}
	text, err := jsontext.Marshal(v)
	if err != nil || members(raw) != members(text) {
		return string(compact(raw))
	}
	return string(text)
}

// quoted is any text as a JSON string.
func quoted(text []byte) string {
	out, err := jsontext.Marshal(string(text))
	if err != nil {
		return `""` // cannot happen: every string can be encoded
	}
	return string(out)
}

// members counts the members of all objects of valid JSON text.
func members(text []byte) (n int) {
	inString, escaped := false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == ':':
			n++
		}
	}
	return n
}
