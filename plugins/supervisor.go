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
	"time"
)

// SupervisorOptions say how the plugins of a directory are run. Only DataDir is
// required.
type SupervisorOptions struct {
	// DataDir holds one folder per plugin, named by its id, and the storages of all
	// of them.
	DataDir string
	// OpenStorage opens the storages elsewhere; see [Options]. Defaults to nil.
	OpenStorage OpenStorage
	// Configs are the plugins' configurations by plugin id.
	Configs map[string]json.RawMessage
	// Bundled are plugins next to those of the directory. Defaults to nil.
	Bundled []Bundled
	// Secrets are the plugins' secrets by plugin id and name.
	Secrets map[string]map[string]SecretSource
	// RunDir, Logger, StartTimeout, CallTimeout and CloseTimeout are those of
	// [Options], for every plugin.
	RunDir       string
	Logger       *slog.Logger
	StartTimeout time.Duration
	CallTimeout  time.Duration
	CloseTimeout time.Duration
	// DrainTimeout is how long Close waits for running calls. Defaults to 5 s.
	DrainTimeout time.Duration
	// RetireTimeout is how long a generation that was replaced or removed may go
	// on with its running calls; a development plugin has DrainTimeout. Defaults
	// to CallTimeout and a little more, so that a reload cuts no call short.
	RetireTimeout time.Duration
	// HealthTimeout is how long a plugin may take to answer the question that
	// follows a call that ran out of time; one that does not answer is killed
	// and restarted. Defaults to 5 s, in which this process runs.
	HealthTimeout time.Duration
	// Restart says how often and how soon a plugin that died comes back.
	Restart RestartPolicy
	// Watch keeps the plugins in line with the directory: whatever is installed,
	// replaced or removed there is loaded, reloaded or removed a moment later, as by
	// Reload. What counts of a plugin is its manifest and the files that the
	// manifest names, wherever links lead. Defaults to false.
	Watch bool
	// Gate is asked before every start of a plugin of the directory. Defaults to
	// the directory's quoin.lock without trusted keys, see [LockGate].
	Gate Gate
	// OnChange is called, without arguments and one call at a time, after the
	// state, the tools or the namespaces of any plugin have changed. It must
	// not call Close. Defaults to nothing.
	OnChange func()

	clock clock
	times times // zero outside of tests
}

// RestartPolicy bounds restarts. The zero value means the defaults.
type RestartPolicy struct {
	// Budget is the number of restarts within Window after which a plugin is
	// disabled. Defaults to 5; negative means no restarts.
	Budget int
	// Window defaults to 10 min.
	Window time.Duration
	// FirstDelay precedes the first restart within Window; each further one
	// waits twice as long as the one before, up to MaxDelay. Defaults to 100 ms.
	FirstDelay time.Duration
	// MaxDelay defaults to 30 s.
	MaxDelay time.Duration
}

// withDefaults fills in the defaults.
func (r RestartPolicy) withDefaults(t *times) RestartPolicy {
	if r.Budget == 0 {
		r.Budget = 5
	}
	r.Budget = max(r.Budget, 0)
	r.Window = orDefault(r.Window, t.restartWindow)
	r.FirstDelay = orDefault(r.FirstDelay, t.restartFirst)
	r.MaxDelay = orDefault(r.MaxDelay, t.restartLongest)
	return r
}

// Supervisor runs the plugins of a directory, brings back those that die, and
// leads every call to the live process. It is safe for concurrent use.
type Supervisor struct {
	options SupervisorOptions
	run     *runDir
	dir     string
	life    context.Context // ends when Close starts
	stop    context.CancelFunc
	watch   sync.WaitGroup // the watcher
	jobs    sync.WaitGroup // reloads that the watcher has started
	leaving sync.WaitGroup // plugins that were removed

	notify sync.Mutex // held while OnChange runs
	names  sync.Mutex // held while names are checked and taken

	mu      sync.Mutex
	plugins []*supervised // sorted by id; replaced as a whole

	closeOnce sync.Once
	closeErr  error
}

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

// changed tells the owner, one call at a time.
func (s *Supervisor) changed() {
	if s.options.OnChange == nil {
		return
	}
	s.notify.Lock()
	defer s.notify.Unlock()
	s.options.OnChange()
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

// present are the plugins there are now. The slice must not be changed.
func (s *Supervisor) present() []*supervised {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plugins
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

// plugin finds a plugin by its id.
func (s *Supervisor) plugin(id string) (*supervised, error) {
	present := s.present()
	i, ok := slices.BinarySearchFunc(present, id, compareID)
	if !ok {
		return nil, unknownPluginError(id)
	}
	return present[i], nil
}

func compareID(p *supervised, id string) int { return cmp.Compare(p.id, id) }

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
