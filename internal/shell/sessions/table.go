package sessions

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// Owner is a session with the host, as its identity.
type Owner string

// Spec is what a session is started with.
type Spec struct {
	Owner   Owner
	Command execution.Command
	// Line is the command as it was asked for, and Host where it runs.
	Line, Host string
	// Timeout ends the process. Zero does not.
	Timeout time.Duration
	// ApprovalID names the approval that let it run, if there was one.
	ApprovalID string
	// Input says who may write to the process.
	Input InputRule
}

// InputRule says who may write to a process.
type InputRule int

// The rules for input.
const (
	FreeInput     InputRule = iota // its owner
	ApprovedInput                  // its owner, with what a person has approved
	NoInput
)

// Limits bound a table. Each must be positive.
type Limits struct {
	OutputBytes int           // kept of each process
	Running     int           // processes of one owner at a time
	Keep        time.Duration // how long ended ones are kept
	Grace       time.Duration // between asking a process to end and killing it
}

// The bounds of all owners together, and of the ended sessions of one.
const (
	maxRunning    = 256
	maxEnded      = 512
	maxOwnEnded   = 64
	maxEndedBytes = 128 << 20
)

// Table has the sessions of all owners.
type Table struct {
	limits   Limits
	instance string
	removed  func(id string)

	mu       sync.Mutex
	sessions map[string]*Session
	starting map[Owner]int // being started
	closed   bool
	readers  sync.WaitGroup
}

// New returns an empty table. removed is called with the id of each session that is
// removed; it may be nil.
func New(l Limits, removed func(id string)) *Table {
	if removed == nil {
		removed = func(string) {}
	}
	return &Table{limits: l, instance: strings.ToLower(rand.Text()[:8]), removed: removed, sessions: map[string]*Session{}, starting: map[Owner]int{}}
}

// Start starts a process with l.
func (t *Table) Start(ctx context.Context, l execution.Launcher, spec Spec) (*Session, error) {
	if err := t.reserve(spec.Owner); err != nil {
		return nil, err
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.starting[spec.Owner]--; t.starting[spec.Owner] == 0 {
			delete(t.starting, spec.Owner)
		}
	}()
	p, err := l.Start(ctx, spec.Command)
	if err != nil {
		return nil, err
	}
	s := &Session{
		id: t.newID(), spec: spec, process: p, started: time.Now(), grace: t.limits.Grace,
		input: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		output: output{limit: t.limits.OutputBytes}, status: Running,
	}
	t.mu.Lock()
	closed := t.closed
	if !closed {
		t.sessions[s.id] = s
		t.readers.Add(1)
	}
	t.mu.Unlock()
	if closed {
		p.Kill()
		_, err := p.Wait()
		return nil, cmp.Or(err, error(errorf(CodeTooMany, "the shell plugin is stopping")))
	}
	go t.watch(s)
	return s, nil
}

// newID makes an id that is not guessed and that tells which process of the plugin has
// made it.
func (t *Table) newID() string {
	return t.instance + "-" + strings.ToLower(rand.Text()[:10])
}

// Made reports whether id was made by this table.
func (t *Table) Made(id string) bool { return strings.HasPrefix(id, t.instance+"-") }

// Has reports whether the table has a session.
func (t *Table) Has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions[id] != nil
}

// watch reads the output of s, enforces its timeout, and removes it when it is old.
func (t *Table) watch(s *Session) {
	defer t.readers.Done()
	if s.spec.Timeout > 0 {
		timer := time.AfterFunc(s.spec.Timeout, func() {
			_ = s.end(context.Background(), byTimeout) // the context never ends
		})
		defer timer.Stop()
	}
	s.read()
	t.makeRoom(s.spec.Owner)
	id := s.id // a timer that had s would keep the output of one that is removed before
	time.AfterFunc(t.limits.Keep, func() { t.drop(id) })
}

// reserve checks the bounds for one more process of o.
func (t *Table) reserve(o Owner) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, all := t.starting[o], 0
	for _, n := range t.starting {
		all += n
	}
	for _, s := range t.sessions {
		if s.running() {
			all++
			if s.spec.Owner == o {
				own++
			}
		}
	}
	switch {
	case t.closed:
		return errorf(CodeTooMany, "the shell plugin is stopping")
	case own >= t.limits.Running:
		return errorf(CodeTooMany, "%d processes of this session run, which is all that may: kill one, or wait for its end", own)
	case all >= maxRunning:
		return errorf(CodeTooMany, "%d processes run, which is all that may: try again later", all)
	}
	t.starting[o]++
	return nil
}

func (s *Session) running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// makeRoom removes the oldest ended sessions beyond the bounds.
func (t *Table) makeRoom(o Owner) {
	t.mu.Lock()
	var ended []*Session
	for _, s := range t.sessions {
		if !s.running() {
			ended = append(ended, s)
		}
	}
	slices.SortFunc(ended, func(a, b *Session) int { return b.State().Ended.Compare(a.State().Ended) })
	var gone []string
	own, bytes := 0, 0
	for i, s := range ended {
		bytes += s.size()
		if s.spec.Owner == o {
			own++
		}
		if i >= maxEnded || bytes > maxEndedBytes && i > 0 || s.spec.Owner == o && own > maxOwnEnded {
			gone = append(gone, s.id)
		}
	}
	t.mu.Unlock()
	for _, id := range gone {
		t.drop(id)
	}
}

func (s *Session) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.size()
}

func (t *Table) drop(id string) {
	t.mu.Lock()
	known := t.sessions[id] != nil
	delete(t.sessions, id)
	t.mu.Unlock()
	if known {
		t.removed(id)
	}
}

// Get returns a session of o.
func (t *Table) Get(o Owner, id string) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil || s.spec.Owner != o {
		return nil, errorf(CodeUnknown, "there is no process %q in this session: list shows those that there are", fmt.Sprintf("%.40s", id))
	}
	return s, nil
}

// List returns the sessions of o, the oldest first.
func (t *Table) List(o Owner) []State {
	t.mu.Lock()
	var own []*Session
	for _, s := range t.sessions {
		if s.spec.Owner == o {
			own = append(own, s)
		}
	}
	t.mu.Unlock()
	states := make([]State, len(own))
	for i, s := range own {
		states[i] = s.State()
	}
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	return states
}

// Clear removes a session of o that has ended.
func (t *Table) Clear(o Owner, id string) (State, error) {
	s, err := t.Get(o, id)
	if err != nil {
		return State{}, err
	}
	if s.running() {
		return State{}, errorf(CodeRunning, "process %s runs: kill it first, or use remove", id)
	}
	t.drop(id)
	return s.State(), nil
}

// Remove kills a session of o if it runs, and removes it.
func (t *Table) Remove(ctx context.Context, o Owner, id string) (State, error) {
	s, err := t.Get(o, id)
	if err != nil {
		return State{}, err
	}
	if err := s.Kill(ctx); err != nil {
		return State{}, err
	}
	t.drop(id)
	return s.State(), nil
}

// Close kills every process, for a reason that their sessions give, and waits until all
// are gone. The table takes no more.
func (t *Table) Close(reason string) {
	t.mu.Lock()
	t.closed = true
	all := make([]*Session, 0, len(t.sessions))
	for _, s := range t.sessions {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		s.abandon(reason)
	}
	t.readers.Wait()
}

// abandon kills the process without a grace.
func (s *Session) abandon(reason string) {
	s.mu.Lock()
	if s.status == Running && s.cause == byItself {
		s.cause, s.reason = byCaller, reason
	}
	running := s.status == Running
	s.mu.Unlock()
	if running {
		s.process.Kill()
	}
}
