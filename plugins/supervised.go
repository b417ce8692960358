package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// supervised is one plugin over the lives of its processes. One goroutine, run,
// changes the state; everything else reads it.
type supervised struct {
	id      string
	found   Found
	process Options
	options SupervisorOptions
	runPath string
	changed func()

	stop    context.CancelFunc
	stopped chan struct{} // closed when run has ended
	first   chan struct{} // closed when the first start has succeeded or failed
	decided func()        // closes first, once
	helpers sync.WaitGroup

	mu       sync.Mutex
	restarts restarts
	state    State
	reason   string
	live     *Process              // set while StateRunning
	desc     *protocol.Description // what is on offer; nil when disabled or stopped
	closeErr error
}

func newSupervised(f Found, process Options, o SupervisorOptions, runPath string, changed func()) *supervised {
	first := make(chan struct{})
	return &supervised{
		id: f.ID(), found: f, process: process, options: o, runPath: runPath, changed: changed,
		restarts: restarts{policy: o.Restart},
		stopped:  make(chan struct{}),
		first:    first,
		decided:  sync.OnceFunc(func() { close(first) }),
	}
}

// begin starts the plugin and returns when the first start is decided.
func (p *supervised) begin(ctx context.Context) {
	life, stop := context.WithCancel(context.Background())
	p.stop = stop
	undo := context.AfterFunc(ctx, stop)
	go p.run(life)
	<-p.first
	undo()
}

// run is the life of the plugin: start, serve until death, back off, again.
func (p *supervised) run(ctx context.Context) {
	defer close(p.stopped)
	defer p.decided()
	for {
		live, err := start(ctx, p.options.Gate.admit(p.found), p.process, p.runPath)
		switch {
		case err == nil:
			p.set(StateRunning, "", live, live.Describe())
			p.decided()
			err = p.serve(ctx, live)
		case ctx.Err() == nil:
			p.options.Logger.Error("plugin does not start", "plugin", p.id, "error", err)
		}
		if ctx.Err() != nil {
			p.set(StateStopped, "stopped", nil, nil)
			return
		}
		if !p.comeBack(ctx, err) {
			return
		}
	}
}

// serve waits for the end of the live process, or stops it when ctx ends.
func (p *supervised) serve(ctx context.Context, live *Process) error {
	select {
	case <-live.Done():
		err := live.Err()
		p.options.Logger.Error("plugin died", "plugin", p.id, "error", err)
		p.noteClose(live.Close())
		return err
	case <-ctx.Done():
		defer p.set(StateStopped, "stopped", nil, nil)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.options.DrainTimeout)
		defer cancel()
		if left, err := live.Drain(drain); err != nil || left > 0 {
			p.options.Logger.Warn("plugin stops before its calls have ended", "plugin", p.id, "calls", left, slog.Any("error", err))
		}
		p.noteClose(live.Close())
		return nil
	}
}

// comeBack decides after a death or a failed start. It returns when it is time
// for the next start, or false when there is none.
func (p *supervised) comeBack(ctx context.Context, err error) bool {
	var start *StartError
	if errors.As(err, &start) {
		err = start.Err
		if start.Refused {
			p.set(StateDisabled, err.Error(), nil, nil)
			return false
		}
	}
	delay, ok := p.nextRestart()
	if !ok {
		reason := fmt.Sprintf("it died after %d restarts within %v; last: %v", p.options.Restart.Budget, p.options.Restart.Window, err)
		p.options.Logger.Error("plugin disabled", "plugin", p.id, "reason", reason)
		p.set(StateDisabled, reason, nil, nil)
		return false
	}
	p.set(StateRestarting, err.Error(), nil, p.offered())
	p.decided()
	due, cancel := p.options.clock.After(delay)
	defer cancel()
	select {
	case <-due:
		return true
	case <-ctx.Done():
		p.set(StateStopped, "stopped", nil, nil)
		return false
	}
}

func (p *supervised) nextRestart() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts.next(p.options.clock.Now())
}

// set changes the state in one step and tells the supervisor's owner.
func (p *supervised) set(s State, reason string, live *Process, desc *protocol.Description) {
	p.mu.Lock()
	p.state, p.reason, p.live, p.desc = s, reason, live, desc
	p.mu.Unlock()
	p.changed()
}

func (p *supervised) noteClose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeErr = errors.Join(p.closeErr, err)
}

// close stops the plugin and waits.
func (p *supervised) close() error {
	p.stop()
	<-p.stopped
	p.helpers.Wait()
	p.set(StateStopped, "stopped", nil, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closeErr
}

// offered is what the plugin offers now; nil for nothing.
func (p *supervised) offered() *protocol.Description {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.desc
}

func (p *supervised) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		ID: p.id, Dir: p.found.Dir, Version: p.found.Manifest.Version,
		State: p.state, Reason: p.reason, Restarts: p.restarts.total,
	}
	if p.live != nil {
		s.PID = p.live.PID()
	}
	if p.desc != nil {
		for _, t := range p.desc.Tools {
			s.Tools = append(s.Tools, t.Name)
		}
		for _, n := range p.desc.Namespaces {
			s.Namespaces = append(s.Namespaces, n.ID)
		}
	}
	return s
}

// current is the live process, or an error that says why there is none.
func (p *supervised) current() (*Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case StateRunning:
		return p.live, nil
	case StateStarting:
		return nil, protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "plugin %s is starting", p.id)
	case StateRestarting:
		return nil, protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "plugin %s is being restarted: %s", p.id, p.reason)
	case StateStopped:
		return nil, protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "plugin %s is stopped", p.id)
	}
	return nil, protocol.NewError(protocol.KindProcess, protocol.CodeDisabled, "plugin %s is disabled: %s", p.id, p.reason)
}

func (p *supervised) callTool(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	live, err := p.current()
	if err != nil {
		return nil, err
	}
	result, err := live.CallTool(ctx, req, progress)
	p.examine(live, err)
	return result, err
}

// examine looks after a plugin that let a call run out of time: if it does not
// answer a simple question either, it is killed, which restarts it.
func (p *supervised) examine(live *Process, err error) {
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindTimeout, Code: protocol.CodeTimeout}) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != live {
		return // already replaced or stopped
	}
	p.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), p.options.HealthTimeout)
		defer cancel()
		if _, err := live.Health(ctx); err != nil {
			p.options.Logger.Error("plugin does not answer and is killed", "plugin", p.id, "error", err)
			live.Kill()
		}
	})
}

// registration is a namespace whose functions call the live process.
func (p *supervised) registration(n protocol.NamespaceInfo) namespaces.Registration {
	create := func(ctx context.Context, rc namespaces.RunContext) (any, error) {
		live, err := p.current()
		if err != nil {
			return nil, err
		}
		scope, err := live.CreateScope(ctx, n.ID, rc)
		if err != nil {
			p.examine(live, err)
			return nil, err
		}
		return scope, nil
	}
	mapper := func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
		live, err := p.current()
		if err != nil {
			return nil, err
		}
		input, err := live.MapInput(ctx, n.ID, rc, mapper, args)
		p.examine(live, err)
		return input, err
	}
	return registration(p.id, n, create, mapper)
}
