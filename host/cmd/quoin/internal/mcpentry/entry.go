package mcpentry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/mcp"
)

// Entry is a server as mcp.servers has it, without its name.
type Entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	PassEnv []string          `json:"passEnv,omitempty"`

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	ConnectTimeoutMs int64 `json:"connectTimeoutMs,omitempty"`
	CallTimeoutMs    int64 `json:"callTimeoutMs,omitempty"`

	Allow    []string `json:"allow,omitzero"` // an empty list leaves no tools
	Deny     []string `json:"deny,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
}

// Check returns an error if a host would refuse the entry under that name.
func (e Entry) Check(name string) error {
	err := mcp.Check([]mcp.Server{{
		Name: name, Command: e.Command, Args: e.Args, Dir: e.Dir, Env: e.Env, PassEnv: e.PassEnv,
		URL: e.URL, Headers: e.Headers, Allow: e.Allow, Deny: e.Deny,
	}})
	var wrong *mcp.ConfigError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s %s", wrong.Field, wrong.Text)
	}
	return err
}

// JSON returns the entry as the configuration has it.
func (e Entry) JSON() ([]byte, error) { return json.Marshal(e) }

// maxName is the length of a server's name.
const maxName = 64

// ValidName makes a name that mcp.servers takes of any text, the same if it is one.
func ValidName(name string) string {
	var b strings.Builder
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		switch {
		case letter, b.Len() > 0 && strings.ContainsRune("-_.", r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	valid := b.String()
	if len(valid) > maxName {
		valid = valid[:maxName]
	}
	if valid != name {
		valid = strings.TrimRight(valid, "-")
	}
	if valid == "" {
		return "server"
	}
	return valid
}

// freeName returns name, or one like it that is not taken.
func freeName(name string, taken func(string) bool) string {
	free := name
	for i := 2; taken(free); i++ {
		suffix := fmt.Sprintf("-%d", i)
		free = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	return free
}
