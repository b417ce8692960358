//go:build linux

package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/namespaces"
)

// stream calls a plugin from many goroutines, each call with its arguments mapped
// by the plugin, and counts who has answered.
type stream struct {
	s   *Supervisor
	reg namespaces.Registration

	mu       sync.Mutex
	answered map[string]int // by generation
	wrong    []string
	grown    chan struct{} // receives when answered has grown
}

// once makes one call.
func (s *stream) once(t *testing.T, mapper string) error {
	ctx, done := s.s.KeepGenerations(t.Context())
	defer done()
	input, err := s.reg.MapInput(ctx, testRun, mapper, nil)
	if err != nil {
		return fmt.Errorf("mapping: %w", err)
	}
	b, err := s.s.CallTool(ctx, "alpha", CallRequest{Tool: "both", CallID: "c", Run: testRun, Input: input}, nil)
	if err != nil {
		return err
	}
	made, by, _ := strings.Cut(said(t, b), " ")
	if made != by {
		return fmt.Errorf("made by %s and answered by %s", made, by)
	}
	s.mu.Lock()
	s.answered[by]++
	s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return nil
}

// await waits until a generation has answered n calls.
func (s *stream) await(t *testing.T, by string, n int) {
	t.Helper()
	for {
		s.mu.Lock()
		enough, wrong := s.answered[by] >= n, s.wrong
		s.mu.Unlock()
		if len(wrong) > 0 {
			t.Fatalf("%d calls went wrong: %v", len(wrong), wrong[0])
		}
		if enough {
			return
		}
		<-s.grown
	}
}

// TestReloadsUnderAStreamOfCalls: of the calls that are made all the while none
// fails, and none has to do with two generations.
func TestReloadsUnderAStreamOfCalls(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 0")
	sup := supervise(t, dir, SupervisorOptions{})
	s := &stream{s: sup, reg: sup.Registrations()[0], answered: map[string]int{}, grown: make(chan struct{}, 1)}
	v, err := s.reg.CreateScope(t.Context(), testRun)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.(*namespaces.Scope).Resolve([]string{"both"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var over atomic.Bool
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for !over.Load() {
				if err := s.once(t, c.Mapping.Mapper); err != nil {
					s.mu.Lock()
					s.wrong = append(s.wrong, err.Error())
					s.mu.Unlock()
					select {
					case s.grown <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	defer callers.Wait()
	defer over.Store(true)
	s.await(t, "0", streamCalls)
	for i := 1; i <= streamReloads; i++ {
		become(t, dir, "alpha", "gen "+strconv.Itoa(i))
		reload(t, sup, "alpha")
		s.await(t, strconv.Itoa(i), streamCalls)
	}
	over.Store(true)
	callers.Wait()
	calls := 0
	for _, n := range s.answered {
		calls += n
	}
	if len(s.wrong) > 0 || len(s.answered) != streamReloads+1 {
		t.Errorf("%d generations answered; wrong: %v", len(s.answered), s.wrong)
	}
	t.Logf("%d calls, %.0f a second, over %d reloads: %d wrong", calls, float64(calls)/time.Since(began).Seconds(), streamReloads, len(s.wrong))
}

// TestReloadsLeaveNothingBehind: descriptors, processes, goroutines and memory are
// after many reloads, failed ones too, what they were after a few.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	hosttest.Serial(t, "counts what this process holds")
	dir := shortDir(t)
	install(t, dir, "alpha", "gen x")
	s := supervise(t, dir, SupervisorOptions{})
	staysFlat(t, s, flatReloads, func(i int) {
		if i%10 == 9 {
			become(t, dir, "alpha", "raw example")
			if err := s.Reload(t.Context(), "alpha"); err == nil {
				t.Fatal("a bad plugin was loaded")
			}
			become(t, dir, "alpha", "gen x")
		}
		reload(t, s, "alpha")
	})
}

// TestWatchedReloadsLeaveNothingBehind: the same without a request, for a folder
// that is replaced by another each time.
func TestWatchedReloadsLeaveNothingBehind(t *testing.T) {
	hosttest.Serial(t, "counts what this process holds")
	w := watchedAlpha(t, SupervisorOptions{})
	staysFlat(t, w.s, flatReloads/5, func(i int) {
		before := statusOf(t, w.s, "alpha").PID
		elsewhere := shortDir(t)
		install(t, elsewhere, "alpha", "gen x")
		if err := os.Rename(w.path("alpha"), filepath.Join(elsewhere, "old")); err != nil {
			t.Fatal(err)
		}
		rename(t, filepath.Join(elsewhere, "alpha"), w.path("alpha"))
		w.ch.until(t, w.s, func() bool {
			for _, st := range w.s.Plugins() {
				return st.State == StateRunning && st.LastError == "" && st.PID != before
			}
			return false // it has gone, and comes again
		})
	})
}

// staysFlat does something with plugin alpha again and again.
func staysFlat(t *testing.T, s *Supervisor, rounds int, once func(i int)) {
	t.Helper()
	round := func(i int) {
		t.Helper()
		once(i)
		answer(t, t.Context(), s, "alpha")
		p, err := s.plugin("alpha")
		if err != nil {
			t.Fatal(err)
		}
		p.quiet()
	}
	for i := range 10 {
		round(i)
	}
	before := measure(t)
	for i := range rounds {
		round(i)
	}
	after := measure(t)
	t.Logf("before %+v, after %d rounds %+v", before, rounds, after)
	// Connections of the last process may still be on their way out.
	const closing = 4
	if after.files > before.files+closing || after.children > before.children || after.goroutines > before.goroutines+3*closing ||
		after.heap > before.heap+8<<20 {
		t.Errorf("before %+v, after %d rounds %+v", before, rounds, after)
	}
}

// quiet returns once no replaced generation is left.
func (p *supervised) quiet() {
	p.mu.Lock()
	retiring := p.retiring
	p.mu.Unlock()
	for _, gone := range retiring {
		<-gone
	}
}

// usage is what this process holds.
type usage struct {
	files, children, goroutines int
	heap                        uint64
}

func measure(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	u := usage{files: openFiles(t), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		u.children += len(strings.Fields(string(b)))
	}
	return u
}
