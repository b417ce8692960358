package pluginlint

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Options say how a plugin is looked at. The zero value means the defaults.
type Options struct {
	// Configs are configurations by plugin id, of which the plugin is started
	// with its own. Defaults to none.
	Configs map[string]json.RawMessage
	// Secrets are where secrets are, by plugin id and name.
	Secrets map[string]map[string]plugins.SecretSource
	// Logger receives what the plugin logs. Defaults to nothing.
	Logger *slog.Logger
	// StartTimeout bounds the start. Defaults to plugins.Options's.
	StartTimeout time.Duration
}

// probe is the run for which scopes are made. It belongs to nobody.
var probe = namespaces.RunContext{AgentID: "validate", SessionKey: "validate", SessionID: "validate", RunID: "run_validate"}

// Check looks at the plugin in dir. The error is about the looking, not about
// the plugin: ctx ended, or no temporary directory could be had.
func Check(ctx context.Context, dir string, o Options) (_ *Report, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	found := plugins.Find(dir)
	r := &Report{ID: found.Manifest.ID, Version: found.Manifest.Version, Dir: found.Dir, Tools: []string{}, Namespaces: []string{}, Problems: []Problem{}}
	defer r.sort()
	if found.Err != nil {
		r.manifestErrors(found.Err)
		return r, nil
	}
	data, err := os.MkdirTemp("", "quoin-validate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	p, err := plugins.Start(ctx, found, plugins.Options{
		DataDir: filepath.Join(data, "data"), StorageDir: filepath.Join(data, "storage"),
		Config: o.Configs[found.ID()], Secrets: o.Secrets[found.ID()], Logger: o.Logger, StartTimeout: o.StartTimeout,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.startErrors(err)
		return r, nil
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r.look(ctx, p)
	return r, nil
}

// manifestErrors adds one problem per mistake in the manifest.
func (r *Report) manifestErrors(err error) {
	for _, e := range parts(err) {
		var m *plugins.ManifestError
		if !errors.As(e, &m) {
			r.add(Error, "manifest", plugins.ManifestName, e.Error(), "")
			continue
		}
		where := plugins.ManifestName
		if m.Field != "" {
			where += " field " + m.Field
		}
		r.add(Error, "manifest", where, m.Problem, m.Fix)
	}
}

// startErrors adds one problem per reason for which the plugin did not come up.
func (r *Report) startErrors(err error) {
	var start *plugins.StartError
	if errors.As(err, &start) {
		err = start.Err
	}
	for _, e := range parts(err) {
		r.add(Error, "start", "process", e.Error(), "")
	}
}

// look goes through what the plugin offers.
func (r *Report) look(ctx context.Context, p *plugins.Process) {
	d := p.Describe()
	for _, t := range d.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, n := range d.Namespaces {
		r.Namespaces = append(r.Namespaces, n.GlobalName)
		r.namespace(ctx, p, n)
	}
}

// namespace makes the scope of the probe run.
func (r *Report) namespace(ctx context.Context, p *plugins.Process, n protocol.NamespaceInfo) {
	if _, err := p.CreateScope(ctx, n.ID, probe); err != nil {
		r.add(Error, "scope", "namespace "+n.ID, err.Error(), "")
	}
}

// parts are the errors that were joined into err, one by one.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}
