package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// maxPinBytes bounds a file of pins: a whole list, and what surrounds each tool.
const maxPinBytes = 2 * maxListBytes

// pins keeps what the tools of one server have to be: in a file of its own in the
// directory of pins, or in memory without one. The lock of plugins is another file because
// it says what an operator has reviewed, and a host never writes it.
type pins struct {
	server string
	path   string // "" keeps them in memory

	mu   sync.Mutex
	kept pinnedTools
}

// newPins returns the pins of a server.
func newPins(dir, server string) *pins {
	p := &pins{server: server}
	if dir != "" {
		p.path = filepath.Join(dir, server+".json")
	}
	return p
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

// load returns the pins, nil if the server was never seen.
func (p *pins) load() (pinnedTools, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" {
		return p.kept, nil
	}
	text, err := durable.ReadFile(p.path, maxPinBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var tools pinnedTools
	if err == nil {
		tools, err = parsePins(text, p.server)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore the file, or remove it to pin the tools as they are next seen", p.path, err)
	}
	return tools, nil
}

// store makes tools the pins.
func (p *pins) store(tools pinnedTools) error { return p.write(tools, durable.Replace) }

// start makes tools the pins of a server that is seen first. If another process has seen it
// meanwhile, the error is fs.ErrExist.
func (p *pins) start(tools pinnedTools) error { return p.write(tools, durable.Create) }

// write writes the pins in one of two ways.
func (p *pins) write(tools pinnedTools, write func(path string, data []byte, o durable.Options) error) error {
	if tools == nil {
		tools = pinnedTools{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" {
		p.kept = tools
		return nil
	}
	text, err := formatPins(tools, p.server)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	return write(p.path, text, durable.Options{})
}

// others returns the names of the tools of all servers that have pins in the same directory,
// so that a tool can be compared with those of servers that are not connected.
func (p *pins) others() (map[string][]string, error) {
	out := map[string][]string{}
	if p.path == "" {
		return out, nil
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.path), "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files[:min(len(files), maxServers)] {
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		tools, err := (&pins{server: server, path: file}).load()
		if err != nil {
			return nil, err
		}
		out[server] = tools.names()
	}
	return out, nil
}

// stamp changes when another process has written the pins.
func (p *pins) stamp() string {
	if p.path == "" {
		return ""
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
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
	if out.Len() > maxPinBytes {
		return nil, fmt.Errorf("they take %d bytes; at most %d are kept", out.Len(), maxPinBytes)
	}
	return append(out.Bytes(), '\n'), nil
}

// pinnedOf is what is pinned of a tool.
func pinnedOf(o offered) pinnedTool {
	return pinnedTool{
		Title: canonical(o.Title), Description: canonical(o.Description), InputSchema: canonical(o.InputSchema),
		OutputSchema: canonical(o.OutputSchema), Annotations: canonical(o.Annotations),
	}
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
