package drive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// failing returns guests with workers that fail at something for the first times.
func failing(what string, times int) *Guests {
	return &Guests{Fails: func(_ context.Context, asked string) error {
		if asked == what && times > 0 {
			times--
			return Crash()
		}
		return nil
	}}
}

// TestARunOutlivesAWorkerThatCannotTakeIt: another one takes the run, and where none can, the run
// waits on.
func TestARunOutlivesAWorkerThatCannotTakeIt(t *testing.T) {
	for _, failures := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Guests: failing("restore", failures)})
				id := WantWaiting(t, h.Run(yields), codemode.ReasonYield)
				for range failures / 2 { // two attempts for each wait
					if r := h.Resume(id); r.Status != codemode.StatusWaiting || r.RunID != id {
						t.Fatalf("got %s, want the run to wait on", Show(r))
					}
				}
				WantValue(t, h.Resume(id), `42`)
			})
		})
	}
}

// TestARunOutlivesItsKilledWorker: a run that the store has continues from there when its
// worker is killed. It does so once.
func TestARunOutlivesItsKilledWorker(t *testing.T) {
	for name, tt := range map[string]struct {
		stored bool
		deaths int
		want   []codemode.Reason // of the waits that fail
	}{
		"once":               {true, 1, []codemode.Reason{codemode.ReasonRunBusy}},
		"twice":              {true, 2, []codemode.Reason{codemode.ReasonRunBusy, codemode.ReasonWorkerCrashed}},
		"of a store that is": {false, 1, []codemode.Reason{codemode.ReasonWorkerCrashed}},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var store runstore.Store = &runstore.Memory{}
				if tt.stored {
					store = NewKept()
				}
				h := Start(t, Setup{Store: store, Guests: failing("turn", tt.deaths), Tools: []catalog.Tool{Echo("echo")}})
				id := WantWaiting(t, h.Run(func(g *Guest) any {
					g.Yield()
					return g.Call("echo", N(1))
				}), codemode.ReasonYield)
				for _, reason := range tt.want {
					r := h.Resume(id)
					WantFailure(t, r, codemode.CodeUnavailable, reason, codemode.PhaseHost)
					if kept := strings.Contains(r.Error, "kept as it was stored last"); kept != (reason == codemode.ReasonRunBusy) {
						t.Errorf("error %q", r.Error)
					}
				}
				if tt.want[len(tt.want)-1] == codemode.ReasonRunBusy {
					WantValue(t, h.Resume(id), `{"n":1}`)
				}
			})
		})
	}
}

// TestEveryAnswerArrives: chains of calls that return at once, bursts that are larger than
// the slots, calls that wait for other calls, timers and yields, in runs that are in a store
// and in others, all end.
func TestEveryAnswerArrives(t *testing.T) {
	for _, yield := range []bool{false, true} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("yields %t, stored %t", yield, stored), func(t *testing.T) {
				InBubble(t, func(t *testing.T) {
					s := Setup{Tools: []catalog.Tool{Echo("echo"), meeting()}}
					if stored {
						s.Store = NewKept()
					}
					h := Start(t, s)
					for range 5 {
						r := h.Run(func(g *Guest) any {
							answers := 0
							for round := range 3 {
								answers += answersOf(g)
								g.Sleep(time.Millisecond)
								if yield && round == 1 {
									g.Yield()
								}
							}
							return answers
						})
						for r.Status == codemode.StatusWaiting {
							r = h.Resume(r.RunID)
						}
						WantValue(t, r, `189`)
					}
				})
			})
		}
	}
}

// answersOf makes a pair of calls that meet, a burst, and a chain, and counts the answers.
func answersOf(g *Guest) (n int) {
	all := []*Promise{g.Go("meet", nil), g.Go("meet", nil)}
	for i := range 40 {
		all = append(all, g.Go("echo", N(i)))
	}
	for i := range 20 {
		if string(g.Call("echo", N(i))) == fmt.Sprintf(`{"n":%d}`, i) {
			n++
		}
	}
	for i, p := range all {
		if v := string(p.Value()); i < 2 && v == "null" || v == fmt.Sprintf(`{"n":%d}`, i-2) {
			n++
		}
	}
	return n + 1
}

// meeting returns a tool with calls that return in pairs.
func meeting() catalog.Tool {
	met := make(chan struct{})
	return Does("meet", func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return nil, nil
	})
}

// TestAPanicWhileACallDrivesOn: the goroutine of a call that drives the guest on ends the run by a
// panic, and not the host.
func TestAPanicWhileACallDrivesOn(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store, checkpoints := &Seam{Store: NewKept()}, 0
		store.Checkpoint = func(ctx context.Context, c runstore.Claim, rec *runstore.Record) error {
			if checkpoints++; checkpoints == 2 {
				panic("the store panics at a checkpoint")
			}
			return c.Checkpoint(ctx, rec)
		}
		// The host never hears of the call that the store was to be told of, and waits for it.
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{Echo("echo")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			g.Call("echo", N(1))
			return g.Call("echo", N(2))
		}), codemode.ReasonYield)
		if r := h.Resume(id); r.Code != codemode.CodeInternal {
			t.Errorf("got %s, want %s", Show(r), codemode.CodeInternal)
		}
		WantValue(t, h.Run(func(g *Guest) any { return g.Call("echo", N(2)) }), `{"n":2}`)
	})
}

// printer is a host with a program that emits something between two calls.
type printer struct {
	*Host
	setup         Setup
	first, second *Gate
	id            string
}

func startPrinter(t *testing.T, store runstore.Store) *printer {
	p := &printer{first: NewGate(), second: NewGate()}
	second := p.second.Tool("second")
	second.Idempotent = true
	p.setup = Setup{Store: store, Tools: []catalog.Tool{p.first.Tool("first"), second}}
	p.Host = Start(t, p.setup)
	p.id = WantWaiting(t, p.RunFor(time.Second, func(g *Guest) any {
		g.Call("first", nil)
		g.Text("between")
		return g.Call("second", nil)
	}), codemode.ReasonPendingTools)
	return p
}

// leave has a caller wait until the program has emitted something, and leave for a reason.
func (p *printer) leave(t *testing.T, why error) *codemode.Result {
	ctx, end := context.WithCancelCause(t.Context())
	lost := make(chan *drive.Delivery)
	go func() { lost <- p.Deliver(ctx, Me, p.id, 0) }()
	close(p.first.Open)
	<-p.second.Entered
	synctest.Wait()
	end(why)
	return (<-lost).Result
}

// TestALostCallerLosesNoOutput: what a program has put out for a caller that has left is in
// the next result, at the same host and at the next one. A caller that has run out of time
// takes it.
func TestALostCallerLosesNoOutput(t *testing.T) {
	for name, tt := range map[string]struct {
		why         error
		next        bool
		first, then []string
	}{
		"the same host":    {context.Canceled, false, nil, []string{"between"}},
		"the next host":    {context.Canceled, true, nil, []string{"between"}},
		"its time is over": {context.DeadlineExceeded, false, []string{"between"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				p := startPrinter(t, NewKept())
				lost := p.leave(t, tt.why)
				WantWaiting(t, lost, codemode.ReasonPendingTools)
				WantTexts(t, lost, tt.first...)
				h := p.Host
				if tt.next {
					h.Shut()
					h = Start(t, p.setup)
				}
				close(p.second.Open)
				r := h.Resume(p.id)
				WantValue(t, r, `"through"`)
				WantTexts(t, r, tt.then...)
			})
		})
	}
}

// TestARefusedWaitLeavesTheOutput: the store has it still, so the wait that is refused does not give
// it, or the next host would give it again.
func TestARefusedWaitLeavesTheOutput(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		p := startPrinter(t, NewKept())
		p.leave(t, context.Canceled)
		p.Shut()
		close(p.second.Open)
		s := p.setup
		s.Quotas = codemode.Quotas{CPUSecondsPerHour: 2, SessionPercent: 10}
		poor := Start(t, s)
		poor.Run(func(g *Guest) any {
			g.Compute(300 * time.Millisecond)
			return nil
		})
		refused := poor.Resume(p.id)
		WantFailure(t, refused, codemode.CodeUnavailable, codemode.ReasonQuota, codemode.PhaseHost)
		WantTexts(t, refused)
		poor.Shut()
		r := Start(t, p.setup).Resume(p.id)
		WantValue(t, r, `"through"`)
		WantTexts(t, r, "between")
	})
}

// wantExpiry holds a run to expire at a time, by what its host says and by its store.
func wantExpiry(t *testing.T, h *Host, id string, want time.Time) {
	t.Helper()
	info, err := h.Engine.Run(t.Context(), id)
	if err != nil || !info.Expires.Equal(want) {
		t.Errorf("the host has %v, %v; want it to expire at %v", info.Expires, err, want)
	}
	rec, err := h.Store.Get(t.Context(), id)
	if err != nil || !rec.Expires.Equal(want) {
		t.Errorf("the store has %v, %v; want it to expire at %v", rec.Expires, err, want)
	}
}

// TestARunIsKeptAsLongAsItWaits for a person, a form or a timer, and for its own time after that:
// also where the person is asked when the run is suspended already.
func TestARunIsKeptAsLongAsItWaits(t *testing.T) {
	const ttl, question, timer = time.Minute, 5 * time.Hour, 7 * time.Hour
	size := codemode.Question{ID: "a", Kind: codemode.QuestionForm, Message: "Which size?", Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}}}`)}
	late := func(ask func(context.Context, catalog.Invocation) error) catalog.Tool {
		return Does("late", func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
			time.Sleep(30 * time.Second)
			return nil, ask(ctx, inv)
		})
	}
	for name, tt := range map[string]struct {
		tool  catalog.Tool
		asked time.Duration // after the start
	}{
		"an approval": {Echo("guarded"), 0},
		"a form": {late(func(context.Context, catalog.Invocation) error {
			return &codemode.InputRequired{Questions: []codemode.Question{size}}
		}), 30 * time.Second},
		"a question of a call": {late(func(ctx context.Context, inv catalog.Invocation) error {
			_, err := inv.Ask(ctx, size)
			return err
		}), 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{
					Settings: codemode.Settings{SnapshotTTL: ttl}, Tools: []catalog.Tool{tt.tool}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Timeout: question}, "guarded")},
					Config: func(c *run.Config) { c.QuestionTimeout = question },
				})
				began := time.Now()
				r := h.RunIn(run.WithAskingCaller(t.Context()), run.Input{Wait: time.Second}, func(g *Guest) any { return g.Call(tt.tool.Name, nil) })
				if r.Status != codemode.StatusWaiting {
					t.Fatal(Show(r))
				}
				if tt.asked > 0 {
					wantExpiry(t, h, r.RunID, began.Add(time.Second+ttl))
				}
				time.Sleep(tt.asked)
				a := <-h.Asked
				synctest.Wait()
				if want := began.Add(tt.asked + question); !a.Expires.Equal(want) {
					t.Errorf("the question expires at %v, want %v", a.Expires, want)
				}
				wantExpiry(t, h, r.RunID, a.Expires.Add(ttl))
			})
		})
	}
	t.Run("a timer", func(t *testing.T) {
		InBubble(t, func(t *testing.T) {
			h := Start(t, Setup{Settings: codemode.Settings{SnapshotTTL: ttl}})
			began := time.Now()
			id := WantWaiting(t, h.RunFor(time.Second, func(g *Guest) any {
				g.Sleep(timer)
				return 1
			}), codemode.ReasonTimer)
			wantExpiry(t, h, id, began.Add(timer+ttl))
		})
	})
}

// TestAProgramThatOnlySleepsSaysSo: no caller is told to wait for tools.
func TestAProgramThatOnlySleepsSaysSo(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{})
		r := h.RunFor(time.Second, func(g *Guest) any {
			g.Sleep(time.Hour)
			return 1
		})
		id := WantWaiting(t, r, codemode.ReasonTimer)
		if len(r.PendingToolCalls) != 0 {
			t.Errorf("got %s", Show(r))
		}
		WantTook(t, time.Hour-time.Second, func() {
			for r.Status == codemode.StatusWaiting {
				r = h.Resume(id)
			}
			WantValue(t, r, `1`)
		})
	})
}

// TestACheckpointThatFailsEndsTheRun: the store knows nothing of the calls of the turn, so they are
// not made.
func TestACheckpointThatFailsEndsTheRun(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store, failing := &Seam{Store: NewKept()}, false
		store.Checkpoint = func(ctx context.Context, c runstore.Claim, rec *runstore.Record) error {
			if failing {
				return errors.New("the disk is full")
			}
			return c.Checkpoint(ctx, rec)
		}
		var paid Calls
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{paid.Tool("pay")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return g.Call("pay", N(1))
		}), codemode.ReasonYield)
		failing = true
		WantFailure(t, h.Resume(id), codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
		if paid.Len() != 0 {
			t.Error("a call was made that the store knows nothing of")
		}
	})
}

// TestARunWithoutAnImageMakesNoCall: the image of the turn that made a call is lost with its worker,
// so the call is not made.
func TestARunWithoutAnImageMakesNoCall(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		images := 0
		guests := &Guests{Fails: func(_ context.Context, asked string) error {
			if asked == "snapshot" {
				images++
			}
			if images == 2 { // the yield takes the first
				return Crash()
			}
			return nil
		}}
		var paid Calls
		h := Start(t, Setup{Store: NewKept(), Guests: guests, Tools: []catalog.Tool{paid.Tool("pay")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return g.Call("pay", N(1))
		}), codemode.ReasonYield)
		WantFailure(t, h.Resume(id), codemode.CodeUnavailable, codemode.ReasonRunBusy, codemode.PhaseHost)
		if paid.Len() != 0 {
			t.Error("a call was made without an image")
		}
	})
}

// otherHost has the runs that it is asked for.
type otherHost struct{ *Seam }

func (otherHost) Host() string                            { return "this" }
func (otherHost) Advertise(context.Context, string) error { return nil }

func (otherHost) Owner(context.Context, string) (runstore.Owner, error) {
	return runstore.Owner{Host: "other", Address: "other:1", Epoch: 2}, nil
}

func (otherHost) Peers(context.Context, int) ([]runstore.Peer, error) {
	return []runstore.Peer{{Host: "other"}}, nil
}

// Ask implements run.PeerHosts.
func (otherHost) Ask(context.Context, string, *cluster.Request, func(*cluster.Frame)) (*cluster.Reply, error) {
	return &cluster.Reply{Result: &codemode.Result{Status: codemode.StatusCompleted, Value: json.RawMessage(`"there"`)}}, nil
}

// TestACallerFollowsARunThatMoves: another host takes the run while a caller waits for it here.
func TestACallerFollowsARunThatMoves(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		fenced := func(context.Context, runstore.Claim, uint64, []runstore.Call) error { return runstore.ErrFenced }
		store := otherHost{&Seam{Store: NewKept(), PutCalls: fenced}}
		slow, still := NewGate(), NewGate()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{slow.Tool("slow"), still.Tool("still")}, Config: func(c *run.Config) { c.Peers = store }})
		id := WantWaiting(t, h.RunFor(time.Millisecond, func(g *Guest) any {
			g.Go("slow", nil)
			return g.Call("still", nil)
		}), codemode.ReasonPendingTools)
		res := Later(func() *codemode.Result { return h.Resume(id) })
		synctest.Wait()
		close(slow.Open)
		WantValue(t, <-res, `"there"`)
	})
}
