package mcpentry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/quoinhq/quoin/host/internal/json5"
)

// MaxBytes bounds a file of another host.
const MaxBytes = 4 << 20

// maxServers bounds the servers of one file.
const maxServers = 256

// Found is a server of another host as an entry of Quoin's.
type Found struct {
	Name  string // valid, and taken by no other of the file
	As    string // what the file calls it
	Entry Entry
	Notes []string // what is not as it was, and what is to be done about it
}

// Skipped is a server that cannot be taken over.
type Skipped struct {
	As     string
	Reason string
}

// Read finds the servers in the configuration of another host: JSON with or without
// comments, or TOML if isTOML. Taken says which names are in use elsewhere.
func Read(data []byte, isTOML bool, taken func(string) bool) (found []Found, skipped []Skipped, err error) {
	root, err := decode(data, isTOML)
	if err != nil {
		return nil, nil, err
	}
	servers := serversOf(root)
	if servers == nil {
		return nil, nil, noServers(root)
	}
	if len(servers) > maxServers {
		return nil, nil, fmt.Errorf("the file has %d servers; at most %d are taken", len(servers), maxServers)
	}
	used := map[string]bool{}
	for _, as := range slices.Sorted(maps.Keys(servers)) {
		f, err := convert(as, servers[as])
		if err != nil {
			skipped = append(skipped, Skipped{as, err.Error()})
			continue
		}
		f.Name = freeName(ValidName(as), func(name string) bool { return used[name] || name != as && taken(name) })
		used[f.Name] = true
		if err := f.Entry.Check(f.Name); err != nil {
			skipped = append(skipped, Skipped{as, err.Error()})
			continue
		}
		found = append(found, f)
	}
	return found, skipped, nil
}

// decode returns the file as an object. Errors have the place of a mistake without the
// text around it, which may be a secret.
func decode(data []byte, isTOML bool) (root map[string]any, err error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(data), MaxBytes)
	}
	if isTOML {
		err := toml.Unmarshal(data, &root)
		var wrong *toml.DecodeError
		if errors.As(err, &wrong) {
			line, column := wrong.Position()
			return nil, fmt.Errorf("%d:%d: this is no TOML", line, column)
		}
		if err != nil {
			return nil, errors.New("this is no TOML")
		}
		return root, nil
	}
	v, err := json5.Parse(data)
	var wrong *json5.SyntaxError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s: this is no JSON", wrong.Pos)
	}
	text, err := v.AppendJSON(nil)
	if err != nil {
		return nil, errors.New("the file has a number that is infinite")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&root); err != nil || root == nil {
		return nil, errors.New("the file is no object")
	}
	return root, nil
}

// containers are where hosts have their servers.
var containers = [][]string{
	{"mcpServers"},      // Claude Desktop, Claude Code, Cursor and many others
	{"mcp", "servers"},  // settings of VS Code; Quoin
	{"servers"},         // mcp.json of VS Code
	{"mcp_servers"},     // Codex
	{"context_servers"}, // Zed
	{"customizations", "vscode", "mcp", "servers"}, // development containers
}

func serversOf(root map[string]any) map[string]any {
	for _, path := range containers {
		if servers := objectAt(root, path); servers != nil {
			return servers
		}
	}
	return nil
}

func objectAt(root map[string]any, path []string) map[string]any {
	at := root
	for _, name := range path {
		at, _ = at[name].(map[string]any)
	}
	return at
}

// noServers says what to do with a file that has them elsewhere.
func noServers(root map[string]any) error {
	if root["command"] != nil || root["url"] != nil {
		return errors.New(`this is one server without a name: write {"mcpServers": {"NAME": …}} around it`)
	}
	var names []string
	for _, path := range containers {
		names = append(names, strings.Join(path, "."))
	}
	return fmt.Errorf("no servers are in the file: expected one of %s", strings.Join(names, ", "))
}
