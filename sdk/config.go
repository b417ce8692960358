package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Config is what the host gives a plugin before its first call.
type Config struct {
	// DataDir is a folder of the plugin's own that outlives the process. It
	// exists, is writable, and is also the working directory.
	DataDir string
	// JSON is the plugin's section of the host's configuration. It is nil if
	// the configuration has no such section.
	JSON json.RawMessage

	plugin   string
	protocol int
	secrets  map[string]Secret
}

// newConfig is c as the plugin of that id gets it.
func newConfig(id string, c protocol.Configuration) Config {
	own := Config{DataDir: c.DataDir, JSON: c.JSON, plugin: id, protocol: c.Protocol, secrets: make(map[string]Secret, len(c.Secrets))}
	for name, text := range c.Secrets {
		own.secrets[name] = NewSecret(text)
	}
	return own
}

// Decode reads JSON into v and refuses fields v does not have. Without any
// configuration v is left as it is, so it may hold the defaults.
func (c Config) Decode(v any) error {
	if len(c.JSON) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.JSON))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("plugin configuration: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("plugin configuration: more than one JSON value")
	}
	return nil
}

// ConfigureFunc prepares a plugin, for instance by opening its database. Its
// error refuses the load and is shown to the operator of the host.
type ConfigureFunc func(ctx context.Context, c Config) error

// OnConfigure adds a function to run once, before the first call. Functions
// run in the order they were added; the first error ends the start.
func (p *Plugin) OnConfigure(f ConfigureFunc) { p.onConfigure = append(p.onConfigure, f) }
