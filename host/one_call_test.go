package host_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/runstore"
)

var update = flag.Bool("update", false, "write the page that the test compares with")

// callPath collects the functions of the host that lead to a place outside of it.
type callPath struct {
	mu    sync.Mutex
	paths map[string][]string
}

// here notes the functions of the host on the stack, outermost first.
func (p *callPath) here(place string) {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	var path []string
	for {
		f, more := frames.Next()
		_, name, ours := strings.Cut(f.Function, "quoinhq/quoin/host")
		if ours && !strings.HasSuffix(f.File, "_test.go") {
			name = strings.NewReplacer("/internal/runs.", "", "(*", "", ")", "", "[...]", "").Replace(name)
			path = append(path, strings.TrimPrefix(name, "."))
		}
		if !more {
			break
		}
	}
	slices.Reverse(path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paths == nil {
		p.paths = map[string][]string{}
	}
	p.paths[place] = path
}

// tracedStore notes the paths on which the host writes to it.
type tracedStore struct {
	runstore.Store
	path *callPath
}

func (s tracedStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s tracedStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s tracedStore) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	s.path.here("the store gets the image and the call")
	return claim.Checkpoint(ctx, r)
}

func (s tracedStore) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	if calls[0].State == runstore.CallSettled {
		s.path.here("the journal gets the answer")
	}
	return claim.PutCalls(ctx, generation, calls)
}

// TestOneCallPage has a run that was suspended make one call, and pins the way of that
// call through the host in docs/internals/one-call.md.
func TestOneCallPage(t *testing.T) {
	t.Parallel()
	const page, mark, end = "../docs/internals/one-call.md", "<!-- generated: path -->\n", "<!-- end -->\n"
	path := &callPath{}
	tool := catalog.Tool{Name: "list", Description: "Lists issues.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		path.here("the tool runs")
		return json.RawMessage(`[]`), nil
	}}
	h := start(t, host.Config{Store: tracedStore{openState(t, mkdir(t)), path}, Tools: []catalog.Tool{tool}})
	id := wantWaiting(t, exec(h, `await yield_control(); return await tools.list({})`), codemode.ReasonYield)
	wantValue(t, h.Wait(t.Context(), me, id), `[]`)

	var b strings.Builder
	b.WriteString("\n```text\n")
	for _, place := range []string{"the store gets the image and the call", "the tool runs", "the journal gets the answer"} {
		for i, name := range path.paths[place] {
			b.WriteString(strings.Repeat("  ", i) + name + "\n")
		}
		b.WriteString(strings.Repeat("  ", len(path.paths[place])) + "-> " + place + "\n\n")
	}
	var stages []string
	for _, s := range pipeline.CallStages {
		stages = append(stages, s.Name)
	}
	b.WriteString("stages of a call: " + strings.Join(stages, ", ") + "\n```\n\n")

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), mark)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the marks %q and %q", page, mark, end)
	}
	got := before + mark + b.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("%s is out of date; run: go test ./host -run %s -update\n%s", page, t.Name(), b.String())
	}
}
