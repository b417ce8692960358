package pluginlint

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Options say how a plugin is looked at. The zero value means the defaults.
type Options struct {
	// Configs are configurations by plugin id. A plugin starts with its
	// own. Defaults to no configuration.
	Configs map[string]json.RawMessage
	// Secrets are where secrets are, by plugin id and name. In place of one that
	// cannot be had the plugin gets a stand-in, with a warning.
	Secrets map[string]map[string]plugins.SecretSource
	// Logger receives what the plugin logs. Defaults to nothing.
	Logger *slog.Logger
	// StartTimeout bounds the start. Defaults to plugins.Options's.
	StartTimeout time.Duration
}

// probe is the run for which scopes are made. No session owns it.
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
	r.manifest(found.Manifest)
	data, err := os.MkdirTemp("", "quoin-validate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	secrets, missing := StandIns(o.Secrets[found.ID()])
	for name, err := range missing {
		r.add(Warning, "unset-secret", "secret "+name, err.Error(), "the plugin was started with a stand-in")
	}
	p, err := r.start(ctx, found, plugins.Options{
		DataDir: filepath.Join(data, "data"), StorageDir: filepath.Join(data, "storage"),
		Config: o.Configs[found.ID()], Secrets: secrets, Logger: o.Logger, StartTimeout: o.StartTimeout,
	})
	if p == nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r.look(ctx, p)
	return r, nil
}

// standIn takes the place of a secret that cannot be had.
const standIn = "a stand-in for a secret"

// StandIns returns the sources with a stand-in for each secret that cannot be had here,
// which is no mistake of the plugin, and why these cannot.
func StandIns(sources map[string]plugins.SecretSource) (had map[string]plugins.SecretSource, missing map[string]error) {
	had, missing = maps.Clone(sources), map[string]error{}
	for name, source := range sources {
		if _, err := source(); err != nil {
			had[name] = func() (string, error) { return standIn, nil }
			missing[name] = err
		}
	}
	return had, missing
}

// start starts the plugin from a copy of what its manifest names, as a locked
// plugin is, or else in its folder, as others are. It returns no process for one
// that does not come up.
func (r *Report) start(ctx context.Context, f plugins.Candidate, o plugins.Options) (*plugins.Process, error) {
	entry, err := f.LockEntry()
	if err != nil {
		r.manifestErrors(err)
		return nil, nil
	}
	pinned, err := f.PinTo(trust.Lock{f.ID(): entry})
	if err != nil {
		return nil, err
	}
	p, copied := plugins.Start(ctx, pinned, o)
	if copied == nil {
		return p, nil
	}
	p, err = plugins.Start(ctx, f, o)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		r.startErrors(err)
		return nil, nil
	}
	r.add(Warning, "unnamed-files", manifestField("files"), "the plugin starts in its folder, but not as a copy of what the manifest names, as it must once it is locked: "+copied.Error(),
		"name the files it reads there in files")
	return p, nil
}

// manifestErrors adds one problem per mistake in the manifest.
func (r *Report) manifestErrors(err error) {
	for _, e := range parts(err) {
		var m *manifest.Error
		if !errors.As(e, &m) {
			r.add(Error, "manifest", manifest.Name, e.Error(), "")
			continue
		}
		r.add(Error, "manifest", manifestField(m.Field), m.Problem, m.Fix)
	}
}

// manifestField is where a problem of a manifest is.
func manifestField(field string) string {
	if field == "" {
		return manifest.Name
	}
	return manifest.Name + " field " + field
}

// startErrors adds one problem per reason for which the plugin did not come up.
func (r *Report) startErrors(err error) {
	var start *plugins.StartError
	if errors.As(err, &start) {
		err = start.Err
	}
	for _, e := range parts(err) {
		r.add(Error, "start", "plugin "+r.ID, e.Error(), "")
	}
}

// look goes through what the plugin offers.
func (r *Report) look(ctx context.Context, p *plugins.Process) {
	d := p.Describe()
	r.tools(d)
	for _, n := range d.Namespaces {
		r.Namespaces = append(r.Namespaces, n.GlobalName)
		scope, err := p.CreateScope(ctx, n.ID, probe)
		if err != nil {
			r.add(Error, "scope", "namespace "+n.ID, err.Error(), "correct what the plugin returns from its scope, or cells have no "+n.GlobalName)
		}
		r.namespace(d, n, scope)
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
