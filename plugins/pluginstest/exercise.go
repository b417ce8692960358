package pluginstest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/plugins"
)

// Options tune the suite. A nil *Options means all defaults.
type Options struct {
	// Config is the plugin's configuration. Defaults to none.
	Config json.RawMessage
	// SkipExamples keeps the suite from calling read-only tools with their
	// examples, for plugins that need a service which tests do not have.
	SkipExamples bool
	// CallTimeout bounds each call. Defaults to 10 s.
	CallTimeout time.Duration
}

// Exercise runs the suite against the plugin in dir, the folder that holds its
// plugin.json and its built binary. Each part is a subtest.
func Exercise(t *testing.T, dir string, o *Options) {
	t.Helper()
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			problems, err := runPart(t.Context(), part, dir, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Error(p)
			}
		})
	}
}

// Check runs the suite and returns what is wrong with the plugin, each problem
// as one line. The error says why the plugin could not be examined at all.
func Check(ctx context.Context, dir string, o *Options) (problems []string, err error) {
	for _, part := range parts {
		found, err := runPart(ctx, part, dir, o)
		if err != nil {
			return problems, err
		}
		for _, p := range found {
			problems = append(problems, part.name+": "+p)
		}
	}
	return problems, nil
}

// runPart runs one part against a process of its own.
func runPart(ctx context.Context, part part, dir string, o *Options) (_ []string, err error) {
	if o == nil {
		o = &Options{}
	}
	scratch, err := os.MkdirTemp("", "qx")
	if err != nil {
		return nil, err
	}
	defer func() {
		if cleanup := os.RemoveAll(scratch); err == nil {
			err = cleanup
		}
	}()
	options := plugins.Options{
		DataDir:     filepath.Join(scratch, "data"),
		RunDir:      filepath.Join(scratch, "run"),
		Config:      o.Config,
		Logger:      slog.New(slog.DiscardHandler),
		CallTimeout: o.CallTimeout,
	}
	if options.CallTimeout <= 0 {
		options.CallTimeout = 10 * time.Second
	}
	p, err := plugins.Start(ctx, plugins.Find(dir), options)
	if err != nil {
		return nil, err
	}
	e := &exam{ctx: ctx, process: p, options: o}
	part.run(e)
	if err := p.Close(); err != nil {
		e.problem("closing the plugin: %v", err)
	}
	return e.problems, nil
}
