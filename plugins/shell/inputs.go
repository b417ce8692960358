package main

import (
	"encoding/json"

	"github.com/quoinhq/quoin/sdk"
)

// execInput is the input of exec. Fields that are not given stand for the
// configuration.
type execInput struct {
	Command    string            `json:"command" min:"1" jsonschema:"the command line, as a POSIX shell or bash reads it"`
	Workdir    string            `json:"workdir,omitempty" jsonschema:"working directory; a relative one is below the configured one, and host node takes none"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"further environment variables"`
	Cwd        string            `json:"cwd,omitempty" jsonschema:"another name of workdir"`
	YieldMs    *float64          `json:"yieldMs,omitempty" jsonschema:"how long to wait for the end before the command goes on in the background; 10 to 120000, default 10000"`
	Background bool              `json:"background,omitempty" jsonschema:"do not wait at all"`
	Timeout    float64           `json:"timeout,omitempty" min:"0" max:"604800" jsonschema:"seconds after which the command and all it has started are killed; 0 stands for the default, 1800"`
	PTY        bool              `json:"pty,omitempty" jsonschema:"give it a terminal, for programs that need one"`
	Elevated   bool              `json:"elevated,omitempty" jsonschema:"run outside the sandbox with elevated rights, where that is allowed"`
	Host       string            `json:"host,omitempty" enum:"sandbox,gateway,node" jsonschema:"where to run"`
	Security   string            `json:"security,omitempty" enum:"deny,allowlist,full" jsonschema:"which commands may run; the stricter of this and the configuration holds"`
	Ask        string            `json:"ask,omitempty" enum:"off,on-miss,always" jsonschema:"when a person is asked; the stricter of this and the configuration holds"`
	Node       string            `json:"node,omitempty" jsonschema:"name of the node, for host node"`
}

// decodeParams reads the parameters that a hook sees. encoding/json would take "COMMAND"
// for "command", so that keys are looked at first.
func decodeParams(raw json.RawMessage, known []string, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return sdk.Errorf("invalid_input", "the input is not an object: %v", err)
	}
	exact := make(map[string]json.RawMessage, len(fields))
	for _, name := range known {
		if v, ok := fields[name]; ok {
			exact[name] = v
			delete(fields, name)
		}
	}
	for name := range fields {
		return sdk.Errorf("invalid_input", "%.60q is not a field of the input", name)
	}
	b, err := json.Marshal(exact)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return sdk.Errorf("invalid_input", "the input does not fit: %v", err)
	}
	return nil
}

var execFields = []string{"command", "workdir", "cwd", "env", "yieldMs", "background", "timeout", "pty", "elevated", "host", "security", "ask", "node"}
