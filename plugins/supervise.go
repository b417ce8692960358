package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
)

// Supervise loads every plugin in dir and every bundled one, all at once, and returns when
// each has come up or failed. An empty dir means the bundled ones only. A plugin that cannot be loaded does not hide the others:
// its Status says why. The error is about dir or the options. The plugins
// outlive ctx, which bounds the loading only.
func Supervise(ctx context.Context, dir string, o SupervisorOptions) (*Supervisor, error) {
	if o.DataDir == "" {
		return nil, errors.New("plugins: SupervisorOptions.DataDir is required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.clock == nil {
		o.clock = systemClock{}
	}
	if o.Gate == nil && dir != "" {
		o.Gate = LockGate(dir, nil)
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	o.DrainTimeout = orDefault(o.DrainTimeout, o.times.drain)
	o.HealthTimeout = orDefault(o.HealthTimeout, o.times.health)
	o.RetireTimeout = orDefault(o.RetireTimeout, orDefault(o.CallTimeout, o.times.call)+o.times.exitGrace)
	o.Restart = o.Restart.withDefaults(&o.times)
	if dir != "" {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	run, err := openRunDir(o.RunDir)
	if err != nil {
		return nil, err
	}
	s := &Supervisor{options: o, dir: dir, run: run}
	s.life, s.stop = context.WithCancel(context.Background())
	if s.plugins, err = s.discoverAll(); err != nil {
		s.stop()
		return nil, errors.Join(err, run.close())
	}
	slices.SortFunc(s.plugins, func(a, b *supervised) int { return cmp.Compare(a.id, b.id) })
	if o.Watch && dir != "" {
		defer s.watch.Go(s.newWatcher().run)
	}
	var loading sync.WaitGroup
	for _, p := range s.plugins {
		loading.Go(func() { p.load(ctx) })
	}
	loading.Wait()
	return s, nil
}

// discoverAll finds the plugins to load: the bundled ones, and the plugins of the
// directory, if there is one, that have no id of a bundled one.
func (s *Supervisor) discoverAll() ([]*supervised, error) {
	var out []*supervised
	for _, b := range s.options.Bundled {
		out = append(out, s.newSupervised(b.id(), b.Dir))
	}
	if s.dir == "" {
		return out, nil
	}
	found, err := Discover(s.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if s.options.bundled(f.ID()) != nil {
			s.options.Logger.Error("a plugin has the id of a bundled one and is left out: remove it, or name it otherwise", "plugin", f.ID(), "dir", f.Dir)
			continue
		}
		out = append(out, s.newSupervised(f.ID(), f.Dir))
	}
	return out, nil
}

func (s *Supervisor) newSupervised(id, dir string) *supervised {
	p := &supervised{
		id: id, dir: dir, process: s.processOptions(id), options: s.options, runPath: s.run.path,
		changed: s.changed, accept: s.accept,
	}
	p.life, p.stop = context.WithCancel(s.life)
	return p
}

// processOptions are the options of one plugin's processes.
func (s *Supervisor) processOptions(id string) Options {
	callTimeout := s.options.CallTimeout
	if b := s.options.bundled(id); b != nil && b.CallTimeout > 0 {
		callTimeout = b.CallTimeout
	}
	return Options{
		DataDir:      filepath.Join(s.options.DataDir, id),
		Secrets:      s.options.Secrets[id],
		StorageDir:   filepath.Join(s.options.DataDir, storageFolder),
		OpenStorage:  s.options.OpenStorage,
		Config:       s.options.Configs[id],
		Logger:       s.options.Logger,
		StartTimeout: s.options.StartTimeout,
		CallTimeout:  callTimeout,
		CloseTimeout: s.options.CloseTimeout,
		clock:        s.options.clock,
		times:        s.options.times,
	}
}

// CallTool is [Process.CallTool] on the live process of a plugin. Without one
// the error names the plugin and the reason.
func (s *Supervisor) CallTool(ctx context.Context, pluginID string, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	p, err := s.plugin(pluginID)
	if err != nil {
		return nil, err
	}
	return p.callTool(ctx, req, progress)
}

// Plugins returns the state of every plugin, sorted by id.
func (s *Supervisor) Plugins() []Status {
	present := s.present()
	out := make([]Status, len(present))
	for i, p := range present {
		out[i] = p.status()
	}
	return out
}

// Close drains and stops every plugin, all at once, and returns when their
// processes are gone. Its time is bounded by DrainTimeout and CloseTimeout.
func (s *Supervisor) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.stop()
		s.mu.Unlock()
		s.watch.Wait()
		s.jobs.Wait()
		present := s.present()
		errs := make([]error, len(present))
		var closing sync.WaitGroup
		for i, p := range present {
			closing.Go(func() {
				if err := p.close(); err != nil {
					errs[i] = fmt.Errorf("plugin %s: %w", p.id, err)
				}
			})
		}
		closing.Wait()
		s.leaving.Wait()
		s.closeErr = errors.Join(append(errs, s.run.close())...)
	})
	return s.closeErr
}

func (p *supervised) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{ID: p.id, Dir: p.dir, State: StateStopped, Reason: "stopped", LastError: p.loads.lastError}
	switch g := p.current(); {
	case g != nil:
		g.describe(&s)
	case p.loads.lastError != "":
		s.State, s.Reason, s.Generation = StateDisabled, p.loads.lastError, p.lastNumber
	case !p.closed:
		s.State, s.Reason = StateStarting, ""
	}
	return s
}
