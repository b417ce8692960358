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

// Here is what Read has to know of the place where servers are taken over.
type Here struct {
	Taken  func(name string) bool     // by a server of Quoin
	Folder func(path string) bool     // the one for which it is done
	IsSet  func(variable string) bool // in the environment
	IsFile func(path string) bool
}

// Read finds the servers in the configuration of another host: JSON with or without
// comments, or TOML if isTOML.
func Read(data []byte, isTOML bool, here Here) (found []Found, skipped []Skipped, err error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) { // as PowerShell writes a file
		return nil, nil, errors.New("the file is UTF-16; save it as UTF-8")
	}
	root, err := decode(bytes.TrimPrefix(data, []byte("\ufeff")), isTOML)
	if err != nil {
		return nil, nil, err
	}
	scopes := scopesOf(root, here)
	if len(scopes) == 0 {
		return nil, nil, noServers(root)
	}
	beside := besides(root, here)
	used, seen := map[string]bool{}, map[string]bool{}
	for _, s := range scopes {
		for _, as := range slices.Sorted(maps.Keys(s.servers)) {
			reason := s.reason
			if reason == "" && seen[as] {
				reason = "the file has another server of this name, which counts"
			}
			if reason != "" {
				skipped = append(skipped, Skipped{as, reason})
				continue
			}
			if seen[as] = true; len(seen) > maxServers {
				return nil, nil, fmt.Errorf("the file has more than %d servers", maxServers)
			}
			f, err := convert(as, s.servers[as], here, beside)
			if err == nil {
				f.Name = freeName(ValidName(as), func(name string) bool { return used[name] || name != as && here.Taken(name) })
				used[f.Name] = true
				err = f.Entry.Check(f.Name)
			}
			if err != nil {
				skipped = append(skipped, Skipped{as, err.Error()})
				continue
			}
			found = append(found, f)
		}
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

// scope is a part of a file that has servers, with the reason why they are not taken.
type scope struct {
	servers map[string]any
	reason  string
}

// scopesOf returns the parts of a file. Parts of the folder itself come first, because they
// count before parts of all folders.
func scopesOf(root map[string]any, here Here) (scopes []scope) {
	var others []scope
	projects := objectAt(root, []string{"projects"}) // Claude Code
	for _, path := range slices.Sorted(maps.Keys(projects)) {
		servers := objectAt(projects, []string{path, "mcpServers"})
		switch {
		case len(servers) == 0:
		case here.Folder(path):
			scopes = append(scopes, scope{servers: servers})
		default:
			others = append(others, scope{servers, fmt.Sprintf("it is of the folder %.200s alone: to take it, run the command there", path)})
		}
	}
	for _, path := range containers {
		if servers := objectAt(root, path); servers != nil {
			scopes = append(scopes, scope{servers: servers})
		}
	}
	if servers := direct(objectAt(root, []string{"mcp"})); len(servers) > 0 {
		scopes = append(scopes, scope{servers: servers})
	}
	return append(scopes, others...)
}

// direct returns the servers that stand in mcp itself: opencode, Crush. Next to mcp.servers
// only what looks like a server is one.
func direct(mcp map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range mcp {
		server, ok := v.(map[string]any)
		if ok && name != "servers" && (mcp["servers"] == nil || server["command"] != nil || server["url"] != nil) {
			out[name] = v
		}
	}
	return out
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
	return fmt.Errorf("no servers are in the file: expected one of %s, mcp", strings.Join(names, ", "))
}
