package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/awake"
)

// maxAskedInFlight bounds the questions of one call that is held open.
const maxAskedInFlight = 64

// flight is a request that a connection carries, while it has no answer. Servers of older
// protocol versions ask in the middle of it.
type flight struct {
	ctx    context.Context
	caller codemode.Session
	ask    func(context.Context, codemode.Question) (codemode.QuestionAnswer, error)
	clock  *clock
	land   func() // must be called

	token    string // by which the server says how far it is
	progress func(json.RawMessage)

	mu    sync.Mutex
	asked int
}

// flights are the flights of one connection.
type flights struct {
	mu   sync.Mutex
	open map[*flight]bool
	// owners are, by question that was not handled yet, the flights on the streams that
	// carried it. The SDK hands on a question without its stream.
	owners map[string][]*flight
	tokens uint64 // given to flights
}

// flightKey is the context key of a flight.
type flightKey struct{}

// add notes a flight.
func (s *flights) add(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.owners = map[*flight]bool{}, map[string][]*flight{}
	}
	s.tokens++
	s.open[f], f.token = true, "call-"+strconv.FormatUint(s.tokens, 10)
}

// remove forgets a flight and its questions.
func (s *flights) remove(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, f)
	for key, owners := range s.owners {
		kept := owners[:0]
		for _, o := range owners {
			if o != f {
				kept = append(kept, o)
			}
		}
		if s.owners[key] = kept; len(kept) == 0 {
			delete(s.owners, key)
		}
	}
}

// carried notes that the stream of a flight carried a question, before the SDK sees it.
func (s *flights) carried(f *flight, params json.RawMessage) {
	var p sdk.ElicitParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	key := questionKey(&p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[f] && len(s.owners[key]) < maxQuestions && len(s.owners) < maxRequests {
		s.owners[key] = append(s.owners[key], f)
	}
}

// questionKey is the same for a question before and after the SDK has decoded it.
func questionKey(p *sdk.ElicitParams) string {
	text, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(text)
}

// owner returns the flight that a question belongs to: the flight on the stream that carried
// it, or the only flight, or one of several that are all of one session. Otherwise it returns
// nil.
//
// Two streams may carry the same question before either is handled. Then it is not known
// which is which, and it counts like a question that came by no stream.
func (s *flights) owner(p *sdk.ElicitParams) *flight {
	key := questionKey(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if owners := s.owners[key]; len(owners) > 0 {
		first := owners[0]
		for _, o := range owners {
			if !sameCaller(o, first) {
				delete(s.owners, key)
				return nil
			}
		}
		if s.owners[key] = owners[1:]; len(owners) == 1 {
			delete(s.owners, key)
		}
		return first
	}
	var one *flight
	for f := range s.open {
		if one != nil && !sameCaller(one, f) {
			return nil
		}
		one = f
	}
	return one
}

// sameCaller reports whether one session makes both calls. Callers that name no session are
// not known to be the same.
func sameCaller(a, b *flight) bool {
	return a == b || a.caller.Identity() != "" && a.caller.Identity() == b.caller.Identity()
}

// put asks a person. The time of the call stands still until the answer.
func (f *flight) put(ctx context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(f.ctx, cancel)
	defer stop()
	f.clock.pause()
	defer f.clock.resume()
	return f.ask(ctx, q)
}

// clock ends a call after a time in which it was not paused, and this host ran.
type clock struct {
	expire func()
	mu     sync.Mutex
	timer  *time.Timer
	wait   awake.Wait
	left   time.Duration // while it is paused
	paused int
}

// newClock starts a clock.
func newClock(limit time.Duration, expire func()) *clock {
	c := &clock{expire: expire, left: limit, paused: 1}
	c.resume()
	return c
}

// look ends the call, or looks again.
func (c *clock) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.paused > 0:
	case c.wait.Over(time.Now()):
		c.expire()
	default:
		c.timer.Reset(time.Until(c.wait.Look()))
	}
}

// pause stops the time until resume was called as often as pause.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		c.timer.Stop()
		now := time.Now()
		c.wait.Over(now) // so that what this host stood still until now does not count
		c.left = c.wait.Left(now)
	}
}

// resume lets the time run on.
func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused > 0 {
		return
	}
	now := time.Now()
	c.wait = awake.Until(now, now.Add(c.left))
	if left := c.wait.Look().Sub(now); c.timer == nil {
		c.timer = time.AfterFunc(left, c.look)
	} else {
		c.timer.Reset(left)
	}
}

// stop ends the clock for good.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused++
	c.timer.Stop()
}
