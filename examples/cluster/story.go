package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// stage is what the demonstration plays with.
type stage struct {
	quoin, guest  string // executables
	database, dir string
	secret        string
	out           io.Writer

	began time.Time
	hosts []*server
	state *postgres.DB
	names map[string]string // of hosts, by their id in the database
	runs  []*demoRun
}

// demoRun is one suspended run.
type demoRun struct {
	kind, at string // the host that suspended it
	id       string
	question string // that the program has asked its caller, or ""
	want     string
}

// kinds are the programs: one holds a call in flight, so that its host owns it; the others
// wait without an owner.
var kinds = []struct{ name, code, want string }{
	{"asks its caller", `const name = await tools.ask({question: "Who are you?"}); return "hello, " + name`, `"hello, you"`},
	{"has yielded", `await yield_control(); return 6 * 7`, `42`},
	{"waits for a timer", `await new Promise(done => setTimeout(done, 2000)); return "in time"`, `"in time"`},
}

// caller is the session of the runs.
var caller = host.Session{SessionID: "demo"}

// play is the demonstration. It fails unless every run completes.
func (s *stage) play(ctx context.Context) (err error) {
	s.began, s.names = time.Now(), map[string]string{}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []func(context.Context) error{s.startHosts, s.suspendRuns, s.answerElsewhere, s.killTwo, s.completeOnTheThird} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say prints a line with the time since the start.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *stage) startHosts(ctx context.Context) error {
	for i, name := range []string{"alpha", "beta", "gamma"} {
		config, err := s.configure(name)
		if err != nil {
			return err
		}
		if i == 0 {
			if err := s.migrate(ctx, config); err != nil {
				return err
			}
			s.say("a private PostgreSQL runs, with the tables of quoin state migrate")
		}
		h, err := s.start(ctx, name, config)
		if err != nil {
			return err
		}
		s.hosts = append(s.hosts, h)
		s.say("%s serves (process %d)", name, h.cmd.Process.Pid)
	}
	key, err := runstore.OpenKey(filepath.Join(s.dir, "database.key"))
	if err != nil {
		return err
	}
	s.state, err = postgres.Open(ctx, s.database, postgres.Options{Key: key})
	return err
}

// suspendRuns suspends one run of each kind on each host.
func (s *stage) suspendRuns(ctx context.Context) error {
	for _, h := range s.hosts {
		for _, k := range kinds {
			r, err := s.suspend(ctx, h, k.name, k.code, k.want)
			if err != nil {
				return err
			}
			s.runs = append(s.runs, r)
		}
	}
	return nil
}

func (s *stage) suspend(ctx context.Context, h *server, kind, code, want string) (*demoRun, error) {
	ask := catalog.Tool{Name: "ask", Description: "Asks the caller.", Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}}}`)}
	res, err := h.client.Exec(ctx, caller, host.ExecInput{Code: code, Tools: []catalog.Tool{ask}, Wait: 500 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	if res.Status != host.StatusWaiting {
		return nil, fmt.Errorf("a run that %s on %s is %s: %s", kind, h.name, res.Status, res.Error)
	}
	r := &demoRun{kind: kind, at: h.name, id: res.RunID, want: want}
	if kind == kinds[0].name && len(res.PendingToolCalls) == 1 {
		r.question = res.PendingToolCalls[0].ID
		if o, err := s.state.Owner(ctx, r.id); err == nil {
			s.names[o.Host] = h.name
		}
	}
	s.say("%s suspends %s, which %s; owner: %s", h.name, short(r.id), kind, s.owner(ctx, r.id))
	return r, nil
}

// short is the start of a run's id.
func short(id string) string { return id[:12] }

// owner says who holds the claim of a run, and under which epoch.
func (s *stage) owner(ctx context.Context, id string) string {
	o, err := s.state.Owner(ctx, id)
	switch {
	case errors.Is(err, runstore.ErrNotFound):
		return "free"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprintf("%s, epoch %d", s.names[o.Host], o.Epoch)
}

// answerElsewhere completes a run of the first host through the third, while both live.
func (s *stage) answerElsewhere(ctx context.Context) error {
	alpha, gamma := s.hosts[0], s.hosts[2]
	r, err := s.suspend(ctx, alpha, kinds[0].name, kinds[0].code, kinds[0].want)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := s.complete(ctx, gamma, r); err != nil {
		return err
	}
	s.say("gamma has asked alpha, which completed %s in %v", short(r.id), time.Since(start).Round(time.Millisecond))
	return nil
}

func (s *stage) killTwo(context.Context) error {
	for _, h := range s.hosts[:2] {
		if err := h.kill(); err != nil {
			return err
		}
		s.say("%s is killed (SIGKILL)", h.name)
	}
	return nil
}

// completeOnTheThird answers and waits for every run on the host that is left.
func (s *stage) completeOnTheThird(ctx context.Context) error {
	gamma := s.hosts[2]
	for _, r := range s.runs {
		before, start := s.owner(ctx, r.id), time.Now()
		if err := s.complete(ctx, gamma, r); err != nil {
			return err
		}
		s.say("gamma completes %s of %s, which %s; owner before: %s; took %v", short(r.id), r.at, r.kind, before, time.Since(start).Round(time.Millisecond))
	}
	s.say("%d of %d runs completed on gamma, none lost", len(s.runs), len(s.runs))
	return nil
}

// answer answers what a run has asked, also while the host takes the run over.
func (h *server) answer(ctx context.Context, r *demoRun) error {
	for {
		err := h.client.Answer(ctx, caller, r.id, r.question, host.ToolAnswer{Value: json.RawMessage(`"you"`)})
		var problem *gateway.Problem
		if !errors.As(err, &problem) || problem.Reason != string(codemode.ReasonRunBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// complete answers what a run has asked, and waits for its result.
func (s *stage) complete(ctx context.Context, h *server, r *demoRun) error {
	if r.question != "" {
		if err := h.answer(ctx, r); err != nil {
			return fmt.Errorf("answer to %s of %s: %w", r.id, r.at, err)
		}
	}
	res, err := h.client.Wait(ctx, caller, r.id)
	if err != nil {
		return err
	}
	if res.Status != host.StatusCompleted || string(res.Value) != r.want {
		return fmt.Errorf("%s of %s is %s with %s (%s), want %s", r.id, r.at, res.Status, res.Value, res.Error, r.want)
	}
	return nil
}

// end stops what still runs.
func (s *stage) end() error {
	var errs []error
	if s.state != nil {
		errs = append(errs, s.state.Close())
	}
	for _, h := range s.hosts {
		if h.client != nil {
			h.client.Close()
		}
		errs = append(errs, h.kill())
	}
	return errors.Join(errs...)
}
