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

// Secret returns the secret of that name, as the host's operator has configured it.
// The error says what to write where, and suits OnConfigure.
func (c Config) Secret(name string) (Secret, error) {
	s, ok := c.secrets[name]
	switch {
	case ok:
		return s, nil
	case c.protocol < 2:
		return Secret{}, fmt.Errorf("the secret %q cannot be had: the plugin is run with protocol version %d, which has none; write \"protocol\": 2 into its plugin.json", name, c.protocol)
	}
	return Secret{}, fmt.Errorf("the secret %q is not configured; set plugins.secrets.%s.%s to \"env:NAME\" or \"file:/path\" in the host's configuration", name, c.plugin, name)
}

// HasSecret reports whether there is a secret of that name.
func (c Config) HasSecret(name string) bool {
	_, ok := c.secrets[name]
	return ok
}
