package sessions

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a process that does what the test says.
type fake struct {
	output   *io.PipeReader
	writer   *io.PipeWriter
	input    chan []byte
	deaf     atomic.Bool // it ignores being asked to end
	interval sync.Once
	ended    chan struct{}
	exit     execution.Exit
}

func newFake() *fake {
	r, w := io.Pipe()
	return &fake{output: r, writer: w, input: make(chan []byte), ended: make(chan struct{})}
}

func (f *fake) PID() int                    { return 7 }
func (f *fake) Read(b []byte) (int, error)  { return f.output.Read(b) }
func (f *fake) CloseInput() error           { return nil }
func (f *fake) Resize(execution.Size) error { return nil }

func (f *fake) Write(b []byte) (int, error) {
	select {
	case f.input <- b:
		return len(b), nil
	case <-f.ended:
		return 0, io.ErrClosedPipe
	}
}

func (f *fake) Interrupt() {
	if !f.deaf.Load() {
		f.end(execution.Exit{Code: -1, Signal: "SIGTERM"})
	}
}

func (f *fake) Kill() { f.end(execution.Exit{Code: -1, Signal: "SIGKILL"}) }

func (f *fake) end(e execution.Exit) {
	f.interval.Do(func() {
		f.exit = e
		close(f.ended)
		_ = f.writer.Close()
	})
}

func (f *fake) Wait() (execution.Exit, error) {
	<-f.ended
	return f.exit, nil
}

func (f *fake) say(text string) { _, _ = f.writer.Write([]byte(text)) }

// launcher starts the given processes, one after the other.
type launcher struct {
	mu    sync.Mutex
	fakes []*fake
	err   error
}

func (l *launcher) Start(context.Context, execution.Command) (execution.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	f := newFake()
	l.fakes = append(l.fakes, f)
	return f, nil
}

var limits = Limits{OutputBytes: 1 << 10, Running: 3, Keep: time.Hour, Grace: time.Second}

var ada = Owner("ada s1")

func newTable(t *testing.T, l Limits) (*Table, *launcher) {
	t.Helper()
	table := New(l, nil)
	t.Cleanup(func() { table.Close("the test is over") })
	return table, &launcher{}
}

func mustStart(t *testing.T, table *Table, l *launcher, spec Spec) (*Session, *fake) {
	t.Helper()
	s, err := table.Start(t.Context(), l, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s, l.fakes[len(l.fakes)-1]
}

func codeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, l := newTable(t, limits)
		s, f := mustStart(t, table, l, Spec{Owner: ada})
		poll := func(wait time.Duration, untilEnd bool) (string, time.Duration) {
			start := time.Now()
			text, _, err := s.Poll(t.Context(), wait, untilEnd, false)
			if err != nil {
				t.Error(err)
			}
			return text, time.Since(start)
		}
		if text, took := poll(time.Minute, false); text != "" || took != time.Minute {
			t.Errorf("%q after %v", text, took)
		}
		time.AfterFunc(time.Second, func() { f.say("a") })
		if text, took := poll(time.Minute, false); text != "a" || took != time.Second {
			t.Errorf("%q after %v", text, took)
		}
		// A carriage return shows nothing yet, and is no reason to answer.
		time.AfterFunc(time.Second, func() { f.say("50%") })
		time.AfterFunc(2*time.Second, func() { f.say("\r") })
		poll(time.Minute, false)
		if text, took := poll(time.Minute, false); text != "" || took != time.Minute {
			t.Errorf("%q after %v", text, took)
		}
		time.AfterFunc(time.Second, func() { f.say("100%\nb") })
		time.AfterFunc(2*time.Second, func() { f.end(execution.Exit{Code: 3}) })
		if text, took := poll(time.Minute, true); text != "100%\nb" || took != 2*time.Second {
			t.Errorf("%q after %v", text, took)
		}
		if text, took := poll(time.Minute, false); text != "" || took != 0 {
			t.Errorf("%q after %v", text, took)
		}
		if st := s.State(); st.Status != Completed || st.Exit.Code != 3 {
			t.Errorf("%+v", st)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		s, _ = mustStart(t, table, l, Spec{Owner: ada})
		if _, _, err := s.Poll(ctx, time.Minute, false, false); err == nil || err.Error() != "enough" {
			t.Errorf("%v", err)
		}
	})
}

// TestEndings: how a process is told to end, and what its session says then.
func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *Session, f *fake)
		deaf bool
		want Status
		took time.Duration
	}{
		"by itself":              {func(_ *testing.T, _ *Session, f *fake) { f.end(execution.Exit{Code: 1}) }, false, Completed, 0},
		"by a signal of another": {func(_ *testing.T, _ *Session, f *fake) { f.Kill() }, false, Failed, 0},
		"by a limit":             {func(_ *testing.T, _ *Session, f *fake) { f.end(execution.Exit{Code: 1, Reason: "memory"}) }, false, Failed, 0},
		"by kill":                {func(t *testing.T, s *Session, _ *fake) { check(t, s.Kill(t.Context())) }, false, Killed, 0},
		"by kill, deaf":          {func(t *testing.T, s *Session, _ *fake) { check(t, s.Kill(t.Context())) }, true, Killed, time.Second},
		"by its timeout":         {func(*testing.T, *Session, *fake) {}, false, Failed, time.Minute},
		"by its timeout, deaf":   {func(*testing.T, *Session, *fake) {}, true, Failed, time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, l := newTable(t, limits)
				s, f := mustStart(t, table, l, Spec{Owner: ada, Timeout: time.Minute})
				f.deaf.Store(c.deaf)
				start := time.Now()
				c.end(t, s, f)
				<-s.Done()
				st := s.State()
				if took := time.Since(start); st.Status != c.want || took != c.took || st.Timeout != strings.Contains(name, "timeout") {
					t.Errorf("%+v after %v", st, took)
				}
				if err := s.Kill(t.Context()); err != nil {
					t.Errorf("a second end: %v", err)
				}
				if err := s.Write(t.Context(), []byte("x"), false); codeOf(err) != CodeEnded {
					t.Errorf("input after the end: %v", err)
				}
			})
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestOwners see their own sessions alone.
func TestOwners(t *testing.T) {
	table, l := newTable(t, limits)
	s, _ := mustStart(t, table, l, Spec{Owner: ada})
	id := s.State().ID
	for _, o := range []Owner{"ada s2", "bob s1", ""} {
		if _, err := table.Get(o, id); codeOf(err) != CodeUnknown {
			t.Errorf("%+v: %v", o, err)
		}
		if _, err := table.Clear(o, id); codeOf(err) != CodeUnknown {
			t.Errorf("%+v clears: %v", o, err)
		}
		if _, err := table.Remove(t.Context(), o, id); codeOf(err) != CodeUnknown {
			t.Errorf("%+v removes: %v", o, err)
		}
		if all := table.List(o); len(all) != 0 {
			t.Errorf("%+v sees %+v", o, all)
		}
	}
	if got, err := table.Get(ada, id); got != s || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if !table.Made(id) || New(limits, nil).Made(id) {
		t.Error("the id does not say who has made it")
	}
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Int64
		table := New(limits, func(string) { gone.Add(1) })
		l := &launcher{}
		var running []*Session
		for range limits.Running {
			s, _ := mustStart(t, table, l, Spec{Owner: ada})
			running = append(running, s)
		}
		if _, err := table.Start(t.Context(), l, Spec{Owner: ada}); codeOf(err) != CodeTooMany {
			t.Errorf("%v", err)
		}
		other, _ := mustStart(t, table, l, Spec{Owner: "bob"})
		if _, err := table.Clear(ada, running[0].State().ID); codeOf(err) != CodeRunning {
			t.Errorf("%v", err)
		}
		for range 2 * maxOwnEnded {
			s := running[0]
			check(t, s.Kill(t.Context()))
			running = running[1:]
			next, _ := mustStart(t, table, l, Spec{Owner: ada})
			running = append(running, next)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if all := table.List(ada); len(all) != maxOwnEnded+limits.Running || all[len(all)-1].Status != Running {
			t.Errorf("%d are kept", len(all))
		}
		if n := gone.Load(); n != maxOwnEnded {
			t.Errorf("%d are removed", n)
		}
		for _, s := range running {
			check(t, s.Kill(t.Context()))
		}
		time.Sleep(limits.Keep + time.Second)
		if all := table.List(ada); len(all) != 0 {
			t.Errorf("%d are kept for too long", len(all))
		}
		if _, err := table.Get(Owner("bob"), other.State().ID); err != nil {
			t.Errorf("a process that runs is removed: %v", err)
		}
		table.Close("closed")
		if st := other.State(); st.Status != Killed || st.Exit.Reason != "closed" {
			t.Errorf("%+v", st)
		}
		if _, err := table.Start(t.Context(), l, Spec{Owner: ada}); codeOf(err) != CodeTooMany {
			t.Errorf("a start after the end: %v", err)
		}
		time.Sleep(limits.Keep) // the timers end
	})
}

// TestFailedStartsLeaveNothing, not even a place.
func TestFailedStartsLeaveNothing(t *testing.T) {
	table, l := newTable(t, limits)
	l.err = errors.New("no such file")
	for range 3 * limits.Running {
		if _, err := table.Start(t.Context(), l, Spec{Owner: ada}); !errors.Is(err, l.err) {
			t.Fatalf("%v", err)
		}
	}
	l.err = nil
	mustStart(t, table, l, Spec{Owner: ada})
}

// TestParallelStartsKeepTheBounds although none of them knows the others yet.
func TestParallelStartsKeepTheBounds(t *testing.T) {
	table, l := newTable(t, limits)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := table.Start(t.Context(), l, Spec{Owner: ada}); err != nil && codeOf(err) != CodeTooMany {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(table.List(ada)); n != limits.Running {
		t.Errorf("%d run", n)
	}
}

// TestInputThatIsNotRead fails in time, and is not written twice.
func TestInputThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, l := newTable(t, limits)
		s, f := mustStart(t, table, l, Spec{Owner: ada})
		for _, want := range []time.Duration{writeWait, 0} {
			start := time.Now()
			if err := s.Write(t.Context(), []byte("x"), false); codeOf(err) != CodeInput || time.Since(start) != want {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
		if got := <-f.input; string(got) != "x" {
			t.Errorf("%q", got)
		}
		synctest.Wait()
		go func() { <-f.input }()
		check(t, s.Write(t.Context(), []byte("y"), false))
	})
}

// TestInputInARow: a write may come as soon as the one before it has answered.
func TestInputInARow(t *testing.T) {
	t.Parallel()
	table, l := newTable(t, limits)
	s, f := mustStart(t, table, l, Spec{Owner: ada})
	go func() {
		for range 200_000 {
			<-f.input
		}
	}()
	for range 200_000 {
		check(t, s.Write(t.Context(), []byte("x"), false))
	}
}

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, l := newTable(t, limits)
		s, f := mustStart(t, table, l, Spec{Owner: ada})
		f.say("1\n2\n\x1b[1m3\x1b[0m\n4\n5")
		synctest.Wait()
		for _, c := range []struct {
			offset, limit int
			raw           bool
			want          string
			first         int
		}{
			{-1, 2, false, "4\n5", 3},
			{-1, 100, false, "1\n2\n3\n4\n5", 0},
			{1, 2, false, "2\n3\n", 1},
			{2, 1, true, "\x1b[1m3\x1b[0m\n", 2},
			{9, 2, false, "", 5},
		} {
			text, first, lines, _ := s.Log(c.offset, c.limit, c.raw)
			if text != c.want || first != c.first || lines != 5 {
				t.Errorf("%+v: %q from %d of %d", c, text, first, lines)
			}
		}
	})
}

// TestARemovedSessionIsFreed before the time is over for which it would have been kept:
// programs start and remove processes faster than that.
func TestARemovedSessionIsFreed(t *testing.T) {
	table, l := newTable(t, limits)
	freed := make(chan struct{})
	func() {
		s, f := mustStart(t, table, l, Spec{Owner: ada})
		runtime.AddCleanup(s, func(int) { close(freed) }, 0)
		f.end(execution.Exit{})
		<-s.Done()
		if _, err := table.Remove(t.Context(), ada, s.id); err != nil {
			t.Fatal(err)
		}
	}()
	for deadline := time.After(time.Minute); ; {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-deadline:
			t.Fatal("something still has the session")
		default:
			runtime.Gosched()
		}
	}
}

// TestAllProcessesAreBounded, of however many sessions.
func TestAllProcessesAreBounded(t *testing.T) {
	table, l := newTable(t, limits)
	owner := func(i int) Spec { return Spec{Owner: Owner(strconv.Itoa(i))} }
	for i := range maxRunning {
		mustStart(t, table, l, owner(i))
	}
	if _, err := table.Start(t.Context(), l, owner(maxRunning)); codeOf(err) != CodeTooMany {
		t.Errorf("one more: %v", err)
	}
}

// launcherFunc starts a process as it says.
type launcherFunc func() execution.Process

func (l launcherFunc) Start(context.Context, execution.Command) (execution.Process, error) {
	return l(), nil
}

// TestAProcessThatStartsWhileTheTableCloses is killed, since no one would wait for it.
func TestAProcessThatStartsWhileTheTableCloses(t *testing.T) {
	table, _ := newTable(t, limits)
	f := newFake()
	_, err := table.Start(t.Context(), launcherFunc(func() execution.Process {
		table.Close("the plugin stops")
		return f
	}), Spec{Owner: ada})
	if codeOf(err) != CodeTooMany || f.exit.Signal != "SIGKILL" || len(table.List(ada)) != 0 {
		t.Errorf("%v; it has ended with %+v", err, f.exit)
	}
}

// TestTheOutputOfEndedProcessesIsBounded: the oldest make room, and the newest stays.
func TestTheOutputOfEndedProcessesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, l := newTable(t, limits)
		defer time.Sleep(limits.Keep) // the timers end
		var kept []int
		for range 4 {
			s, f := mustStart(t, table, l, Spec{Owner: ada})
			s.mu.Lock()
			s.output.head = make([]byte, maxEndedBytes/2) // which nothing touches
			s.mu.Unlock()
			f.end(execution.Exit{})
			synctest.Wait()
			time.Sleep(time.Second)
			kept = append(kept, len(table.List(ada)))
		}
		if !slices.Equal(kept, []int{1, 2, 2, 2}) {
			t.Errorf("after each of them so many were kept: %v", kept)
		}
	})
}
