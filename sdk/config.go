package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Config is what the host gives a plugin before its first call.
type Config struct {
	// DataDir is a folder of the plugin's own that outlives the process. It
	// exists, is writable, and is also the working directory.
	DataDir string
	// JSON is the plugin's section of the host's configuration; nil when
	// there is none.
	JSON json.RawMessage
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
// error refuses the load and is shown to whoever runs the host.
type ConfigureFunc func(ctx context.Context, c Config) error

// OnConfigure adds a function to run once, before the first call. Functions
// run in the order they were added; the first error ends the start.
func (p *Plugin) OnConfigure(f ConfigureFunc) { p.onConfigure = append(p.onConfigure, f) }

// OnClose adds a function to run once when the plugin stops: after the last
// call has ended, or when the host has gone. Functions run in reverse order,
// all of them, whatever they return. They do not run when the process is
// killed.
func (p *Plugin) OnClose(f func() error) { p.onClose = append(p.onClose, f) }

// Close runs the OnClose functions, once; later calls return the first result.
// [Serve] does it, so only code that serves a plugin some other way needs to.
func (p *Plugin) Close() error {
	p.closing.Do(func() {
		var errs []error
		for i := len(p.onClose) - 1; i >= 0; i-- {
			errs = append(errs, p.onClose[i]())
		}
		p.closed = errors.Join(errs...)
	})
	return p.closed
}
