package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxRetired is how many replaced generations of one plugin may have calls to
// finish at one moment. The next reload waits until one of them is gone.
const maxRetired = 8

// supervised is one plugin over its generations. At most two are on duty: the
// one installed, and the one that overrides it.
type supervised struct {
	id      string
	dir     string // the folder it is installed in
	process Options
	options SupervisorOptions
	runPath string
	changed func()
	// accept refuses a generation whose names are not free. It is called, and
	// the generation put into service, under one lock for all plugins.
	accept func(p *supervised, d *protocol.Description, enter func()) error

	life   context.Context // ends when the plugin is to stop
	stop   context.CancelFunc
	change sync.Mutex     // held while a generation is being replaced
	work   sync.WaitGroup // reloads, and generations that retire

	mu             sync.Mutex
	closed         bool
	queuedReload   *reloadRequest // a reload that has not started
	pendingReloads int            // reloads that have not ended
	lastNumber     int            // number of the newest generation
	installed      *generation
	override       *generation
	retiring       []<-chan struct{} // closed when a replaced generation is gone; oldest first
	fingerprint    fingerprint       // of the folder, as last loaded or tried
	lastError      string
	closeErr       error
}

func (s *Supervisor) newSupervised(id, dir string) *supervised {
	p := &supervised{
		id: id, dir: dir, process: s.processOptions(id), options: s.options, runPath: s.run.path,
		changed: s.changed, accept: s.accept,
	}
	p.life, p.stop = context.WithCancel(s.life)
	return p
}

// load starts the installed plugin and returns when the first start is decided.
func (p *supervised) load(ctx context.Context) {
	g := p.prepare(p.findInstalled, false)
	p.mu.Lock()
	p.installed = g
	p.mu.Unlock()
	g.start(ctx)
}

// prepare makes a generation that is not in service yet.
func (p *supervised) prepare(source func() (Candidate, error), development bool) *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastNumber++
	return newGeneration(p, p.lastNumber, source, development)
}

// findInstalled looks at the plugin's folder as it is now, and asks the gate.
func (p *supervised) findInstalled() (Candidate, error) {
	mark := inspectFolder(p.dir).fingerprint
	p.mu.Lock()
	p.fingerprint = mark
	p.mu.Unlock()
	found := Find(p.dir)
	if p.options.bundled(p.id) == nil {
		found = p.options.Gate.admit(found)
	}
	return found, found.Err
}

// lastLoad tells what the folder was when it was last loaded, and whether that
// failed.
func (p *supervised) lastLoad() (mark fingerprint, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fingerprint, p.lastError != "" || p.installed != nil && p.installed.failed()
}

// isInstalled reports whether something of the plugin directory is there, even if
// it could not be loaded.
func (p *supervised) isInstalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.installed != nil || p.lastError != ""
}

// current is the generation that calls go to, or nil. The caller holds mu.
func (p *supervised) current() *generation {
	if p.override != nil {
		return p.override
	}
	return p.installed
}

// offered is what the plugin offers now; nil for nothing.
func (p *supervised) offered() *protocol.Description {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.current(); g != nil {
		return g.offered()
	}
	return nil
}

// acquire takes a lease on the generation on duty, or on the one that ctx is
// pinned to.
func (p *supervised) acquire(ctx context.Context) (lease, error) {
	if pins, ok := ctx.Value(keptGenerationsKey{}).(*keptGenerations); ok {
		return pins.acquire(p)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquireCurrent()
}

// acquireCurrent takes a lease on the generation on duty. The caller holds mu.
func (p *supervised) acquireCurrent() (lease, error) {
	g := p.current()
	switch {
	case g != nil:
		return g.acquire()
	case p.lastError != "":
		return lease{}, protocol.NewError(protocol.KindProcess, protocol.CodeDisabled, "plugin %s is disabled: %s", p.id, p.lastError)
	}
	return lease{}, unknownPluginError(p.id)
}

// startWork reports whether work on the plugin may start, which the caller ends with
// work.Done. A plugin that is closed takes no work.
func (p *supervised) startWork() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}

// unknownPluginError is the error for an id that no plugin has.
func unknownPluginError(id string) error {
	return protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "there is no plugin %q", id)
}

// do runs one request under a lease.
func (p *supervised) do(ctx context.Context, request func(l lease) error) error {
	l, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer l.g.release()
	err = request(l)
	l.g.checkResponsive(l.live, err)
	return err
}

func (p *supervised) callTool(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (result json.RawMessage, err error) {
	err = p.do(ctx, func(l lease) error {
		if err := req.compatible(p.id, l.desc); err != nil {
			return err
		}
		result, err = l.live.CallTool(ctx, req, progress)
		return err
	})
	return result, err
}

// registration is a namespace whose functions call the generation on duty.
func (p *supervised) registration(of *protocol.Description, n protocol.NamespaceInfo) namespaces.Registration {
	create := func(ctx context.Context, rc namespaces.RunContext) (scope any, err error) {
		err = p.doRestarted(ctx, func(l lease) error {
			if err := sameNamespace(p.id, n.ID, of, l.desc); err != nil {
				return err
			}
			s, err := l.live.CreateScope(ctx, n.ID, rc)
			if err != nil {
				return err
			}
			scope = s
			return nil
		})
		return scope, err
	}
	mapper := func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (input json.RawMessage, err error) {
		err = p.do(ctx, func(l lease) error {
			if err := sameNamespace(p.id, n.ID, of, l.desc); err != nil {
				return err
			}
			input, err = l.live.MapInput(ctx, n.ID, rc, mapper, args)
			return err
		})
		return input, err
	}
	return registration(p.id, n, create, mapper)
}

func (p *supervised) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{ID: p.id, Dir: p.dir, State: StateStopped, Reason: "stopped", LastError: p.lastError}
	switch g := p.current(); {
	case g != nil:
		g.describe(&s)
	case p.lastError != "":
		s.State, s.Reason, s.Generation = StateDisabled, p.lastError, p.lastNumber
	case !p.closed:
		s.State, s.Reason = StateStarting, ""
	}
	return s
}

// describe fills in what a status says of the generation on duty.
func (g *generation) describe(s *Status) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.State, s.Reason, s.Restarts = g.state, g.reason, g.restarts.total
	s.Generation, s.Development = g.number, g.development
	if g.found.Dir != "" {
		s.Dir, s.Version = g.found.Dir, g.found.Manifest.Version
	}
	if pin := g.found.Pin; pin != nil {
		s.Pinned, s.Signer = true, pin.Signer
	}
	if g.live != nil {
		s.PID = g.live.PID()
	}
	if g.desc == nil {
		return
	}
	for _, t := range g.desc.Tools {
		s.Tools = append(s.Tools, t.Name)
	}
	for _, n := range g.desc.Namespaces {
		s.Namespaces = append(s.Namespaces, n.ID)
	}
}

// close stops the plugin with all its generations and waits.
func (p *supervised) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
	p.mu.Lock()
	generations := []*generation{p.override, p.installed}
	p.mu.Unlock()
	var closing sync.WaitGroup
	for _, g := range generations {
		if g != nil {
			closing.Go(func() { p.noteClose(g.close()) })
		}
	}
	closing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closeErr
}

func (p *supervised) noteClose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeErr = errors.Join(p.closeErr, err)
}
