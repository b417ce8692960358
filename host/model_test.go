package host_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// modelChecks is how many histories TestModel makes up, unless -rapid.checks says
// something else than its default.
const modelChecks = 25

// TestModel drives random histories of runs and compares them with a model that
// knows nothing but the contract: no result is lost, no call is made twice that
// must not be, no run is left.
func TestModel(t *testing.T) {
	t.Parallel()
	var histories atomic.Int64
	var failed atomic.Bool // then shrinking needs as many as it wants
	limited := flag.Lookup("rapid.checks").Value.String() == flag.Lookup("rapid.checks").DefValue
	rapid.Check(t, func(t *rapid.T) {
		if limited && histories.Add(1) > modelChecks && !failed.Load() {
			return
		}
		defer func() {
			if t.Failed() {
				failed.Store(true)
			}
		}()
		m := newModel(t)
		defer m.close()
		t.Repeat(map[string]func(*rapid.T){
			"exec": m.exec, "wait": m.wait, "settle": m.settle, "abort": m.abort,
			"expire": m.expire, "restart": m.restart, "kill": m.kill,
		})
		m.finish(t)
	})
}

// The slots of each run: two calls in flight, the others queue.
const modelSlots = 2

// step is one statement of a generated program.
type step string

const (
	stepSpawn      step = "spawn"      // a call of a tool that must not be called twice
	stepSpawnAgain step = "spawnAgain" // a call of an idempotent tool
	stepJoin       step = "join"       // awaits all calls
	stepYield      step = "yield"
	stepSay        step = "say"
)

// modelProgram writes steps as a cell. Its value is what came of the joined calls.
func modelProgram(run int, steps []step) string {
	var b strings.Builder
	b.WriteString("const got = []; let calls = [];\n")
	for i, s := range steps {
		switch s {
		case stepSpawn, stepSpawnAgain:
			tool := map[step]string{stepSpawn: "once", stepSpawnAgain: "again"}[s]
			fmt.Fprintf(&b, "calls.push(tools.%s({run: %d, i: %d}).catch(e => e.effectStatus));\n", tool, run, i)
		case stepJoin:
			fmt.Fprintf(&b, "got.push(...await Promise.all(calls)); calls = []; text(\"%d\");\n", i)
		case stepYield:
			fmt.Fprintf(&b, "text(\"%d\"); await yield_control();\n", i)
		case stepSay:
			fmt.Fprintf(&b, "text(\"%d\");\n", i)
		}
	}
	b.WriteString("return got")
	return b.String()
}

// The states of a run in the model.
type modelState string

const (
	modelDriving modelState = "driving" // in an exec or wait that waits for calls
	modelParked  modelState = "parked"
	modelEnded   modelState = "ended"
)

// modelledCall is a call that a program has made and not got the answer of. What is
// settled stays here until the program has joined it.
type modelledCall struct {
	step  int
	again bool
	state runstore.CallState
	value string // when settled
	made  int    // how often the tool was entered
}

// modelledRun is what the contract says of one run.
type modelledRun struct {
	n       int
	id      string // empty until a result has told it
	steps   []step
	pc      int
	state   modelState
	stored  bool // it was suspended once
	loaded  bool // this host has it
	expired bool // it was not waited for in time
	calls   []*modelledCall
	got     []string
	output  []string // since the last result
	results chan *host.Result
}

// model is a host and what is expected of it.
type model struct {
	t      *rapid.T
	dir    string
	dirs   []string
	h      *host.Host
	hosts  []*host.Host
	state  *sqlite.DB
	states []*sqlite.DB
	runs   []*modelledRun

	mu      sync.Mutex
	entered map[[2]int][]*modelInvocation
	news    chan struct{} // closed when a tool is entered
}

type modelInvocation struct {
	catalog.Invocation
	answer chan string
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, entered: map[[2]int][]*modelInvocation{}, news: make(chan struct{})}
	m.dir = m.tempDir()
	m.open()
	return m
}

func (m *model) tempDir() string {
	dir, err := os.MkdirTemp("", "quoin-model-")
	if err != nil {
		m.t.Fatal(err)
	}
	m.dirs = append(m.dirs, dir)
	return dir
}

// open starts a host on the present directory.
func (m *model) open() {
	state, err := sqlite.Open(context.Background(), m.dir, sqlite.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	m.state, m.states = state, append(m.states, state)
	h, err := newHost(host.Config{
		Store: state, DrainTimeout: time.Millisecond, Guests: host.GuestConfig{Prepared: 1},
		Settings: host.Settings{MaxPendingCalls: modelSlots, Timeout: time.Minute},
		Tools:    []catalog.Tool{m.tool("once", false), m.tool("again", true)},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.h = h
	m.hosts = append(m.hosts, h)
}

// close leaves nothing.
func (m *model) close() {
	for _, h := range m.hosts {
		if err := h.Close(); err != nil {
			m.t.Errorf("Close: %v", err)
		}
	}
	for _, d := range m.states {
		if err := d.Close(); err != nil {
			m.t.Error(err)
		}
	}
	for _, dir := range m.dirs {
		if err := os.RemoveAll(dir); err != nil {
			m.t.Error(err)
		}
	}
}

// tool returns a tool. Its calls are answered by settle.
func (m *model) tool(name string, idempotent bool) catalog.Tool {
	return catalog.Tool{
		Name: name, Description: "Waits for its answer.", Idempotent: idempotent,
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in struct{ Run, I int }
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			inv := &modelInvocation{c, make(chan string, 1)}
			m.mu.Lock()
			key := [2]int{in.Run, in.I}
			m.entered[key] = append(m.entered[key], inv)
			close(m.news)
			m.news = make(chan struct{})
			m.mu.Unlock()
			select {
			case s := <-inv.answer:
				return json.Marshal(s)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

// invocation waits until a call has been made as often as the model says and
// returns the newest.
func (m *model) invocation(r *modelledRun, c *modelledCall) *modelInvocation {
	for {
		m.mu.Lock()
		all, news := m.entered[[2]int{r.n, c.step}], m.news
		m.mu.Unlock()
		if len(all) > c.made {
			m.t.Fatalf("run %d: call %d was made %d times, want %d", r.n, c.step, len(all), c.made)
		}
		if len(all) == c.made && len(all) > 0 {
			if all[0].IdempotencyKey != all[len(all)-1].IdempotencyKey {
				m.t.Fatalf("run %d: call %d was made again with another key", r.n, c.step)
			}
			return all[len(all)-1]
		}
		select {
		case <-news:
		case <-time.After(patience):
			m.t.Fatalf("run %d: call %d was made %d times, want %d: %s", r.n, c.step, len(all), c.made, m.describe())
		}
	}
}

// patience is how long a history waits for what has to happen before it says that
// it does not.
const patience = time.Minute

// pick draws a run of the kind, or skips the action.
func (m *model) pick(t *rapid.T, which func(*modelledRun) bool) *modelledRun {
	var some []*modelledRun
	for _, r := range m.runs {
		if which(r) {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		// Rapid draws another action: this one has nothing to act on.
		t.Skip("no such run")
	}
	return rapid.SampledFrom(some).Draw(t, "run")
}

// GoString is how rapid prints a draw.
func (r *modelledRun) GoString() string {
	var calls []string
	for _, c := range r.calls {
		calls = append(calls, fmt.Sprintf("%d %s", c.step, c.state))
	}
	return fmt.Sprintf("%d %s %s at %d of %v, calls %v", r.n, r.id, r.state, r.pc, r.steps, calls)
}

func (m *model) describe() string {
	var b strings.Builder
	for _, r := range m.runs {
		fmt.Fprintf(&b, "%#v\n", r)
	}
	return b.String()
}

// exec starts a program.
func (m *model) exec(t *rapid.T) {
	if len(m.runs) >= 6 {
		// Rapid draws another action.
		t.Skip("enough runs")
	}
	steps := rapid.SliceOfN(rapid.SampledFrom([]step{stepSpawn, stepSpawn, stepSpawnAgain, stepJoin, stepYield, stepYield, stepSay}), 1, 10).Draw(t, "steps")
	r := &modelledRun{n: len(m.runs), steps: steps, loaded: true}
	m.runs = append(m.runs, r)
	m.drive(r, func(h *host.Host) *host.Result {
		return h.Exec(context.Background(), me, host.ExecInput{Code: modelProgram(r.n, steps)})
	})
}

// wait waits for any run that an earlier result has told of.
func (m *model) wait(t *rapid.T) {
	r := m.pick(t, func(r *modelledRun) bool { return r.id != "" })
	switch r.state {
	case modelEnded:
		m.refused(r, m.h.Wait(context.Background(), me, r.id), r.gone())
	case modelDriving:
		m.refused(r, m.h.Wait(context.Background(), me, r.id), codemode.ReasonRunBusy)
	default:
		m.resume(r)
	}
}

// resume is wait for a parked run.
func (m *model) resume(r *modelledRun) {
	if !r.loaded {
		m.load(r)
	}
	r.pc++ // the yield it is parked at
	m.drive(r, func(h *host.Host) *host.Result { return h.Wait(context.Background(), me, r.id) })
}

// load updates the calls that an earlier host had in flight.
func (m *model) load(r *modelledRun) {
	r.loaded = true
	for _, c := range r.calls {
		switch {
		case c.state != runstore.CallInFlight:
		case c.again:
			c.state = runstore.CallQueued
		default:
			c.state, c.value = runstore.CallSettled, "unknown"
		}
	}
	r.pump()
}

// pump gives free slots to queued calls.
func (r *modelledRun) pump() {
	flying := 0
	for _, c := range r.calls {
		if c.state == runstore.CallInFlight {
			flying++
		}
	}
	for _, c := range r.calls {
		if c.state == runstore.CallQueued && flying < modelSlots {
			c.state = runstore.CallInFlight
			c.made++
			flying++
		}
	}
}

// drive starts an exec or wait and follows it to where it returns or waits.
func (m *model) drive(r *modelledRun, call func(*host.Host) *host.Result) {
	h, results := m.h, make(chan *host.Result, 1)
	r.state, r.results = modelDriving, results
	go func() { results <- call(h) }()
	m.follow(r)
}

// follow runs the program in the model until it waits or ends, and compares.
func (m *model) follow(r *modelledRun) {
	status := r.advance()
	switch status {
	case host.StatusWaiting:
		m.waiting(r, <-m.result(r))
	case host.StatusCompleted:
		m.completed(r, <-m.result(r))
	default:
		m.driven(r)
	}
	r.pump()
	for _, c := range r.calls {
		if c.state == runstore.CallInFlight {
			m.invocation(r, c)
		}
	}
}

// driven waits until someone drives a run that has been resumed.
func (m *model) driven(r *modelledRun) {
	for start := time.Now(); r.id != ""; {
		runs, err := m.h.Runs().List(context.Background(), me)
		if err != nil {
			m.t.Fatal(err)
		}
		if slices.ContainsFunc(runs, func(i codemode.RunInfo) bool { return i.ID == r.id && i.Status == codemode.RunRunning }) {
			return
		}
		if time.Since(start) > patience {
			m.t.Fatalf("run %d is not resumed: %s", r.n, m.describe())
		}
	}
}

// result waits for the result of the exec or wait of a run.
func (m *model) result(r *modelledRun) <-chan *host.Result {
	got := make(chan *host.Result, 1)
	select {
	case res := <-r.results:
		got <- res
	case <-time.After(patience):
		m.t.Fatalf("run %d does not return: %s", r.n, m.describe())
	}
	return got
}

// advance runs the program up to where it waits: an empty status is for a call.
func (r *modelledRun) advance() codemode.Status {
	for ; r.pc < len(r.steps); r.pc++ {
		switch s := r.steps[r.pc]; s {
		case stepSpawn, stepSpawnAgain:
			r.calls = append(r.calls, &modelledCall{step: r.pc, again: s == stepSpawnAgain, state: runstore.CallQueued})
		case stepJoin:
			if !r.settled() {
				return ""
			}
			for _, c := range r.calls {
				r.got = append(r.got, c.value)
			}
			r.calls = nil
			r.say()
		case stepYield:
			r.say()
			return host.StatusWaiting
		case stepSay:
			r.say()
		}
	}
	if !r.settled() {
		return ""
	}
	return host.StatusCompleted
}

func (r *modelledRun) say() { r.output = append(r.output, fmt.Sprint(r.pc)) }

func (r *modelledRun) settled() bool {
	return !slices.ContainsFunc(r.calls, func(c *modelledCall) bool { return c.state != runstore.CallSettled })
}

// settle answers a call.
func (m *model) settle(t *rapid.T) {
	flying := func(r *modelledRun) (out []*modelledCall) {
		for _, c := range r.calls {
			if c.state == runstore.CallInFlight && r.loaded {
				out = append(out, c)
			}
		}
		return out
	}
	r := m.pick(t, func(r *modelledRun) bool { return r.state != modelEnded && len(flying(r)) > 0 })
	m.answer(r, rapid.SampledFrom(flying(r)).Draw(t, "call"))
}

func (m *model) answer(r *modelledRun, c *modelledCall) {
	c.value = fmt.Sprint("value ", c.step)
	m.invocation(r, c).answer <- c.value
	c.state = runstore.CallSettled
	if r.state == modelDriving {
		m.follow(r)
	} else {
		r.pump()
		for _, c := range r.calls {
			if c.state == runstore.CallInFlight {
				m.invocation(r, c)
			}
		}
	}
	if r.stored && r.state != modelEnded {
		m.journaled(r)
	}
}

// journaled waits until the store has every answer of a run that the model has.
func (m *model) journaled(r *modelledRun) {
	for start := time.Now(); ; {
		rec, err := m.state.Get(context.Background(), r.id)
		if err != nil {
			m.t.Fatalf("run %d: %v", r.n, err)
		}
		missing := 0
		for _, c := range r.calls {
			args := fmt.Sprintf(`{"run":%d,"i":%d}`, r.n, c.step)
			if c.state == runstore.CallSettled && slices.ContainsFunc(rec.Calls, func(s runstore.Call) bool {
				return string(s.Args) == args && s.State != runstore.CallSettled
			}) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		if time.Since(start) > patience {
			m.t.Fatalf("run %d: the store misses answers: %s", r.n, m.describe())
		}
	}
}

func (m *model) waiting(r *modelledRun, res *host.Result) {
	if res.Status != host.StatusWaiting || r.id != "" && res.RunID != r.id {
		m.t.Fatalf("run %d: got %s, want waiting", r.n, show(res))
	}
	r.id, r.state, r.stored = res.RunID, modelParked, true
	m.emitted(r, res)
}

func (m *model) completed(r *modelledRun, res *host.Result) {
	want, err := json.Marshal(append([]string{}, r.got...))
	if err != nil {
		m.t.Fatal(err)
	}
	if res.Status != host.StatusCompleted || string(res.Value) != string(want) {
		m.t.Fatalf("run %d: got %s, want completed %s", r.n, show(res), want)
	}
	m.emitted(r, res)
	r.state, r.calls = modelEnded, nil
}

// emitted compares the output since the last result.
func (m *model) emitted(r *modelledRun, res *host.Result) {
	var got []string
	for _, o := range res.Output {
		got = append(got, o.Text())
	}
	if d := cmp.Diff(r.output, got); d != "" {
		m.t.Fatalf("run %d: output (-want +got):\n%s", r.n, d)
	}
	r.output = nil
}

func (m *model) refused(r *modelledRun, res *host.Result, reason codemode.Reason) {
	if res.Status != host.StatusFailed || res.Reason != reason {
		m.t.Fatalf("run %d: got %s, want %s", r.n, show(res), reason)
	}
}

// abort ends any run that an earlier result has told of.
func (m *model) abort(t *rapid.T) {
	r := m.pick(t, func(r *modelledRun) bool { return r.id != "" })
	res := m.h.Abort(context.Background(), me, r.id)
	if r.state == modelEnded {
		m.refused(r, res, r.gone())
		return
	}
	if res.Code != codemode.CodeAborted {
		t.Fatalf("run %d: got %s, want aborted", r.n, show(res))
	}
	m.cutOff(r)
}

// cutOff takes the result of a run that was ended from outside.
func (m *model) cutOff(r *modelledRun) {
	if r.state == modelDriving {
		if res := <-m.result(r); res.Code != codemode.CodeAborted {
			m.t.Fatalf("run %d: got %s, want aborted", r.n, show(res))
		}
	}
	r.state, r.calls = modelEnded, nil
}

func (m *model) expire(t *rapid.T) {
	r := m.pick(t, func(r *modelledRun) bool { return r.state == modelParked && r.loaded })
	m.h.Engine().Expire(r.id)
	r.state, r.calls, r.expired = modelEnded, nil, true
}

// gone is why a run that has ended cannot be had. Only the host in which it expired
// knows that it did.
func (r *modelledRun) gone() codemode.Reason {
	if r.expired && r.loaded {
		return codemode.ReasonRunExpired
	}
	return codemode.ReasonRunUnavailable
}

// restart closes the host. What was running is aborted.
func (m *model) restart(t *rapid.T) {
	if err := m.h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range m.runs {
		if r.state == modelDriving {
			m.cutOff(r)
		}
		r.loaded = false
	}
	m.open()
}

// kill starts another host with what the store holds now, as if the host had been killed.
func (m *model) kill(t *rapid.T) {
	dead, dir := m.h, m.tempDir()
	m.copyTo(dir)
	if err := dead.Close(); err != nil { // its last words are not read
		t.Fatal(err)
	}
	for _, r := range m.runs {
		r.loaded = false
		switch {
		case r.state == modelDriving && r.stored:
			<-m.result(r)
			r.state = modelParked
			r.pc-- // it is not a yield that it is parked at
		case r.state == modelDriving:
			<-m.result(r)
			r.state, r.calls = modelEnded, nil
		}
	}
	m.dir = dir
	m.open()
}

// copyTo copies what the store holds, as if the machine had stopped.
func (m *model) copyTo(dir string) {
	err := m.state.Backup(context.Background(), filepath.Join(dir, sqlite.FileName))
	var key []byte
	if err == nil {
		key, err = os.ReadFile(filepath.Join(m.dir, sqlite.KeyFile))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sqlite.KeyFile), key, 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// finish answers every call and waits for every run to its end. Then nothing may
// be left.
func (m *model) finish(t *rapid.T) {
	for _, r := range m.runs {
		for r.state != modelEnded {
			i := slices.IndexFunc(r.calls, func(c *modelledCall) bool { return c.state == runstore.CallInFlight })
			switch {
			case i >= 0 && r.loaded:
				m.answer(r, r.calls[i])
			case r.state == modelParked:
				m.resume(r)
			default:
				t.Fatalf("run %d is stuck: %s", r.n, m.describe())
			}
		}
	}
	runs, err := m.h.Runs().List(context.Background(), me)
	if err != nil || len(runs) != 0 {
		t.Fatalf("left: %+v, %v", runs, err)
	}
	if items, err := m.state.Items(context.Background()); err != nil || len(items) > 0 {
		t.Fatalf("the store has %+v, %v", items, err)
	}
}
