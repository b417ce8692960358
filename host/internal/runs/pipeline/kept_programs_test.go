package pipeline

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/programs"
)

// panickyStore notes which runs it is told of, and panics at the program "panic".
type panickyStore struct {
	programs.Store
	kept sync.Map // by run id
}

func (p *panickyStore) Keep(_ context.Context, k *programs.Kept) error {
	if k.Code == "panic" {
		panic("no disk")
	}
	p.kept.Store(k.RunID, true)
	return nil
}

// keptRun is as much of a run as keeping its program takes.
func keptRun(id, code string) *run.Run {
	v := &view.View{Catalog: &catalog.Catalog{}}
	to := &view.Access{}
	to.View.Store(v)
	return &run.Run{ID: id, Code: code, Session: codemode.Session{SessionID: "s"}, Access: to}
}

// TestProgramsAreKeptWhileOthersSave: saving waits for what all runs keep at that
// moment, again and again, and a store that panics holds up nothing.
func TestProgramsAreKeptWhileOthersSave(t *testing.T) {
	t.Parallel()
	guard := func(step func()) {
		defer func() { _ = recover() }()
		step()
	}
	store := &panickyStore{}
	k := &KeptPrograms{ProgramConfig: run.ProgramConfig{Store: store, KeepFor: time.Hour}, Guard: guard, Log: slog.New(slog.DiscardHandler)}
	k.Keep(keptRun("run_0", "panic"), true)
	k.Flush()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 500 {
				id := "run_" + strconv.Itoa(n) + "_" + strconv.Itoa(i)
				k.Keep(keptRun(id, "return 1"), true)
				k.Flush()
				if _, kept := store.kept.Load(id); !kept {
					t.Errorf("the store has not been told of %s", id)
				}
			}
		})
	}
	all.Wait()
}
