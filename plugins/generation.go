package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// LogStartFailed is the message of the log record about a plugin that does not start.
// The same stands in its [Status], so that who shows that can leave out the record.
const LogStartFailed = "plugin does not start"

func newGeneration(p *supervised, number int, source func() (Candidate, error), development bool) *generation {
	g := &generation{
		of: p, number: number, source: source, development: development,
		restarts:   restarts{policy: p.options.Restart},
		stopped:    make(chan struct{}),
		firstStart: make(chan struct{}),
		changed:    make(chan struct{}),
		idle:       make(chan struct{}),
	}
	g.life, g.stop = context.WithCancel(p.life)
	g.firstStartDone = sync.OnceFunc(func() { close(g.firstStart) })
	return g
}

// startProcess starts a process from what the source has now.
func (g *generation) startProcess() (*Process, error) {
	found, err := g.source()
	g.mu.Lock()
	g.found = found
	g.mu.Unlock()
	if err != nil {
		return nil, &StartError{PluginID: g.of.id, Refused: true, Err: err}
	}
	options := g.of.process
	options.development = g.development
	return start(g.life, found, options, g.of.runPath)
}

// start starts the generation and returns when the first start is decided, or
// given up because ctx has ended.
func (g *generation) start(ctx context.Context) {
	undo := context.AfterFunc(ctx, g.stop)
	go g.run(nil)
	<-g.firstStart
	undo()
}

// run is the life of the generation: start, serve until death, back off, again.
// live is the first process, if there is one already.
func (g *generation) run(live *Process) {
	defer close(g.stopped)
	defer g.firstStartDone()
	for again := false; ; again = true {
		var err error
		if live == nil {
			live, err = g.startProcess()
		}
		if err == nil && again {
			err = g.serveRestarted(live)
		} else if err == nil {
			g.setDutyAndNotify(onDuty(live))
		}
		switch {
		case err == nil:
			g.firstStartDone()
			err = g.serve(live)
		case g.life.Err() == nil:
			level := slog.LevelError
			if g.development && !again {
				level = slog.LevelDebug // the caller gets the error
			}
			g.of.options.Logger.Log(g.life, level, LogStartFailed, "plugin", g.of.id, "error", err)
		}
		live = nil
		if g.life.Err() != nil || g.isRetired() {
			g.setDutyAndNotify(offDuty)
			return
		}
		if !g.awaitRestart(err) {
			return
		}
	}
}

// serveRestarted puts a process into service that follows one that died. What it offers
// may be something else than before, and a name that another plugin has by now
// stays the other's: a plugin must not get by a crash what a reload would refuse.
func (g *generation) serveRestarted(live *Process) error {
	now := onDuty(live)
	if !claimsMore(g.offered(), now.desc) {
		g.setDutyAndNotify(now)
		return nil
	}
	var news bool
	err := g.of.accept(g.of, now.desc, func() { news = g.setDuty(now) })
	if err != nil {
		g.noteClose(live.Close())
		return &StartError{PluginID: g.of.id, Refused: true, Err: err}
	}
	if news {
		g.of.changed()
	}
	return nil
}

// claimsMore reports whether now has a namespace, or a global of one, that before
// did not have. before is nil for nothing.
func claimsMore(before, now *protocol.Description) bool {
	return slices.ContainsFunc(now.Namespaces, func(n protocol.NamespaceInfo) bool {
		return before == nil || !slices.ContainsFunc(before.Namespaces, func(b protocol.NamespaceInfo) bool {
			return b.ID == n.ID && b.GlobalName == n.GlobalName
		})
	})
}

// serve waits for the end of the live process, or stops it when the generation
// is to end.
func (g *generation) serve(live *Process) error {
	o := g.of.options
	select {
	case <-live.Done():
		err := live.Err()
		o.Logger.Error("plugin died", "plugin", g.of.id, "error", err)
		if g.isRetired() {
			g.setDutyAndNotify(offDuty)
		}
		g.noteClose(live.Close())
		return err
	case <-g.life.Done():
		defer g.setDutyAndNotify(offDuty)
		if !g.isRetired() || g.of.life.Err() != nil {
			g.drain(live) // otherwise its calls have had their time
		}
		g.noteClose(live.Close())
		return nil
	}
}

// drain lets the calls of a process end, for a limited time.
func (g *generation) drain(live *Process) {
	ctx, cancel := context.WithTimeout(context.Background(), g.of.options.DrainTimeout)
	defer cancel()
	if left, err := live.Drain(ctx); err != nil || left > 0 {
		g.of.options.Logger.Warn("plugin stops before its calls have ended", "plugin", g.of.id, "calls", left, slog.Any("error", err))
	}
}

// awaitRestart decides after a death or a failed start. It returns when it is time
// for the next start, or false if the generation stays down.
func (g *generation) awaitRestart(err error) bool {
	var start *StartError
	if errors.As(err, &start) {
		err = start.Err
		if start.Refused {
			g.setDutyAndNotify(duty{state: StateDisabled, reason: err.Error()})
			return false
		}
	}
	delay, ok := g.nextRestart()
	if !ok {
		policy := g.of.options.Restart
		reason := fmt.Sprintf("it died after %d restarts within %v; last: %v", policy.Budget, policy.Window, err)
		g.of.options.Logger.Error("plugin disabled", "plugin", g.of.id, "reason", reason)
		g.setDutyAndNotify(duty{state: StateDisabled, reason: reason})
		return false
	}
	g.setDutyAndNotify(duty{state: StateRestarting, reason: err.Error(), desc: g.offered()})
	g.firstStartDone()
	due, cancel := g.of.options.clock.After(delay)
	defer cancel()
	select {
	case <-due:
		return true
	case <-g.life.Done():
		g.setDutyAndNotify(offDuty)
		return false
	}
}

func (g *generation) nextRestart() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.restarts.next(g.of.options.clock.Now())
}

// setDutyAndNotify changes the duty and tells the supervisor's owner, unless the generation
// was retired.
func (g *generation) setDutyAndNotify(d duty) {
	if g.setDuty(d) {
		g.of.changed()
	}
}

// setDuty changes the duty, and leaves the telling to the caller if there is something to tell.
func (g *generation) setDuty(d duty) (news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	same := g.duty == d
	g.duty = d
	if !same {
		close(g.changed)
		g.changed = make(chan struct{})
	}
	return !same && !g.retired
}

// updateDisabledReason gives a disabled generation the newest reason. It reports false
// for one that is not disabled.
func (g *generation) updateDisabledReason(reason string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != StateDisabled {
		return false
	}
	g.reason = reason
	return true
}

func (g *generation) noteClose(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closeErr = errors.Join(g.closeErr, err)
}

// close stops the generation and waits.
func (g *generation) close() error {
	g.stop()
	<-g.stopped
	g.helpers.Wait()
	g.setDutyAndNotify(offDuty)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closeErr
}

// offered is what the generation offers now; nil for nothing.
func (g *generation) offered() *protocol.Description {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.desc
}

// failed reports whether the generation offers nothing although it should.
func (g *generation) failed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == StateDisabled || g.state == StateRestarting
}

// acquire takes a lease, or says why it cannot. The lease keeps the generation
// from being stopped, up to the time a retired one has.
func (g *generation) acquire() (lease, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != StateRunning {
		return lease{}, g.unavailable()
	}
	g.users++
	return lease{g, g.live, g.desc}, nil
}

// unavailable is why there is no live process. The caller holds mu.
func (g *generation) unavailable() error {
	id := g.of.id
	switch g.state {
	case StateStarting:
		return protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "plugin %s is starting", id)
	case StateRestarting:
		return protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "plugin %s is being restarted: %s", id, g.reason)
	case StateStopped:
		return protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "plugin %s is stopped", id)
	}
	return protocol.NewError(protocol.KindProcess, protocol.CodeDisabled, "plugin %s is disabled: %s", id, g.reason)
}

// retain keeps the generation from being stopped, as a lease does.
func (g *generation) retain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users++
}

// release gives a lease or a hold back.
func (g *generation) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.retired && g.users == 0 {
		close(g.idle)
	}
}

// retire ends the intake: the generation was replaced. From now on only
// requests that keep it can use it.
func (g *generation) retire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return
	}
	g.retired = true
	if g.users == 0 {
		close(g.idle)
	}
}

func (g *generation) isRetired() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.retired
}

// checkResponsive looks after a plugin that let a call run out of time: if it does not
// answer a simple question either, it is killed, which restarts it.
func (g *generation) checkResponsive(live *Process, err error) {
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindTimeout, Code: protocol.CodeTimeout}) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live != live {
		return // already replaced or stopped
	}
	g.helpers.Go(func() {
		ctx, cancel := awake.WithTimeout(context.Background(), g.of.options.HealthTimeout)
		defer cancel()
		if _, err := live.Health(ctx); err != nil {
			g.of.options.Logger.Error("plugin does not answer and is killed", "plugin", g.of.id, "error", err)
			live.Kill()
		}
	})
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

// offered is what the plugin offers now; nil for nothing.
func (p *supervised) offered() *protocol.Description {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.current(); g != nil {
		return g.offered()
	}
	return nil
}

// lastLoad tells what the folder was when it was last loaded, and whether that
// failed.
func (p *supervised) lastLoad() (mark fingerprint, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loads.fingerprint, p.loads.lastError != "" || p.installed != nil && p.installed.failed()
}
