package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
)

// inDirectory returns the tasks of two processes in one new directory.
func inDirectory(t *testing.T) (one, other *Tasks, dir string) {
	t.Helper()
	runs, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "tasks")
	open := func() *Tasks {
		tasks, err := OpenTasks(dir, runs)
		if err != nil {
			t.Fatal(err)
		}
		return tasks
	}
	return open(), open(), dir
}

func newTask(id string, created time.Time) *task {
	return &task{Caller: "me", RunID: id, Created: created.UTC(), Updated: created.UTC(), Status: taskWorking}
}

// TestTasksAreShared: what one process stores another one has, under its id alone.
func TestTasksAreShared(t *testing.T) {
	t.Parallel()
	one, other, dir := inDirectory(t)
	if err := one.add(t.Context(), newTask("run_1", time.Now())); err != nil {
		t.Fatal(err)
	}
	if got, err := other.get(t.Context(), "run_1"); err != nil || got.RunID != "run_1" || got.Caller != "me" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"run_2", "", "../tasks/run_1", "run_1.driver", "run_1\x00", "run_1.task"} {
		if got, err := other.get(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "run_1.task"), filepath.Join(dir, "run_2.task")); err != nil {
		t.Fatal(err)
	}
	if got, err := other.get(t.Context(), "run_2"); !errors.Is(err, documents.ErrCorrupt) {
		t.Errorf("a task under another id: %+v, %v", got, err)
	}
}

// TestNoChangeOfATaskIsLost, whichever process makes it.
func TestNoChangeOfATaskIsLost(t *testing.T) {
	t.Parallel()
	one, other, _ := inDirectory(t)
	memory := newMemoryTasks()
	for name, stores := range map[string][2]*Tasks{"directory": {one, other}, "memory": {memory, memory}} {
		if err := stores[0].add(t.Context(), newTask("run_1", time.Now())); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, tasks := range stores {
			for range 10 {
				all.Go(func() {
					add := func(t *task) error { t.takeOutput([]codemode.Output{{}}); return nil }
					if err := tasks.change(context.Background(), "run_1", add); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if got, err := stores[1].get(t.Context(), "run_1"); err != nil || len(got.Output) != 20 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestOneDriverOfATask: another process drives a task when the first one does no more.
func TestOneDriverOfATask(t *testing.T) {
	t.Parallel()
	one, other, _ := inDirectory(t)
	if err := one.add(t.Context(), newTask("run_1", time.Now())); err != nil {
		t.Fatal(err)
	}
	held, unlock, err := one.driver(t.Context(), "run_1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.driver(t.Context(), "run_1", 10*time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("two drive one task: %v", err)
	}
	if err := one.change(held, "run_1", (*task).cancel); err != nil {
		t.Error(err)
	}
	unlock()
	_, unlock, err = other.driver(t.Context(), "run_1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestTasksThatAreOver are gone, and so are their locks and tasks of earlier versions.
func TestTasksThatAreOver(t *testing.T) {
	t.Parallel()
	one, other, dir := inDirectory(t)
	ago := time.Now().Add(-taskLifetime - time.Minute)
	for _, tasks := range []*Tasks{one, newMemoryTasks()} {
		if err := tasks.add(t.Context(), newTask("run_1", ago)); err != nil {
			t.Fatal(err)
		}
		if got, err := tasks.get(t.Context(), "run_1"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v, %v", got, err)
		}
		tasks.swept = time.Time{}
		if err := tasks.add(t.Context(), newTask("run_2", time.Now())); err != nil {
			t.Fatal(err)
		}
		if counts, err := tasks.docs.Counts(t.Context()); err != nil || counts[taskExt] != 1 {
			t.Errorf("left %v, %v", counts, err)
		}
	}
	// The locks are of a host that was killed, the last file is of an earlier version.
	for _, name := range []string{"run_2.task", "run_2.lock", "run_2.driver.lock", "0123abcd.task"} {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			err = errors.Join(f.Close(), os.Chtimes(path, ago, ago))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := other.add(t.Context(), newTask("run_3", time.Now())); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "run_3.task" {
		t.Errorf("left %v, %v", files, err)
	}
}

// TestTooManyTasks: a store that is full takes no more.
func TestTooManyTasks(t *testing.T) {
	t.Parallel()
	tasks := newMemoryTasks()
	for range maxTasks {
		if err := tasks.add(t.Context(), newTask(rand.Text(), time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	if err := tasks.add(t.Context(), newTask("run_1", time.Now())); err == nil {
		t.Error("one more was taken")
	}
}

// awayTasks is a store that does not answer so many times.
type awayTasks struct {
	*memoryTasks
	left int
}

func (a *awayTasks) Read(ctx context.Context, name string) ([]byte, error) {
	if a.left > 0 {
		a.left--
		return nil, errors.New("the store is away")
	}
	return a.memoryTasks.Read(ctx, name)
}

// TestOutputIsStoredOnceTheStoreIsBack: a run that waits gives its output once. It is not
// held for a client that asks no more.
func TestOutputIsStoredOnceTheStoreIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := &awayTasks{memoryTasks: &memoryTasks{tasks: map[string]memoryTask{}}}
		s := newDrivers(nil, &Tasks{docs: docs}, slog.New(slog.DiscardHandler), &defaultTimes)
		defer s.close()
		if err := s.kept.add(t.Context(), newTask("run_1", time.Now())); err != nil {
			t.Fatal(err)
		}
		waits := &host.Result{Status: host.StatusWaiting, Output: []codemode.Output{{}}}
		d := &taskDriver{}
		d.asked.Store(time.Now().UnixNano())
		docs.left = 3
		if over, err := s.keepAll(t.Context(), d, "run_1", waits); over || err != nil {
			t.Errorf("%v, %v", over, err)
		}
		if got, err := s.kept.get(t.Context(), "run_1"); err != nil || len(got.Output) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		docs.left = 1 << 20
		if _, err := s.keepAll(t.Context(), d, "run_1", waits); err == nil || !s.idle(d) {
			t.Errorf("%v, and a client asked a minute ago: %v", err, s.idle(d))
		}
	})
}

// arrived is what was said of a delivery.
type arrived struct {
	stored bool // by the host
	said   string
}

func (a *arrived) Done() { a.said += "done " }

func (a *arrived) Release() bool {
	a.said += "release "
	return a.stored
}

// TestWhatAWaitOfATaskComesTo: a refusal changes nothing, and a result that cannot be stored
// has not arrived.
func TestWhatAWaitOfATaskComesTo(t *testing.T) {
	t.Parallel()
	completed := host.Result{Status: host.StatusCompleted, Value: []byte(`1`)}
	refused := host.Result{Status: host.StatusFailed, Code: codemode.CodeInvalidInput, Reason: codemode.ReasonRunBusy, Phase: codemode.PhaseHost}
	for name, tt := range map[string]struct {
		res    host.Result
		stored bool // by the host
		away   bool // the store of tasks
		counts bool
		said   string
		status taskStatus
	}{
		"a result":                       {completed, true, false, true, "done ", taskCompleted},
		"a result that cannot be stored": {completed, true, true, false, "release ", taskWorking},
		"a refusal":                      {refused, false, false, false, "release ", taskWorking},
		"a failure that the host stores": {refused, true, false, true, "release done ", taskFailed},
		"a run that waits":               {host.Result{Status: host.StatusWaiting}, false, false, true, "done ", taskWorking},
	} {
		docs := &awayTasks{memoryTasks: &memoryTasks{tasks: map[string]memoryTask{}}}
		s := newDrivers(nil, &Tasks{docs: docs}, slog.New(slog.DiscardHandler), &defaultTimes)
		if err := s.kept.add(t.Context(), newTask("run_1", time.Now())); err != nil {
			t.Fatal(err)
		}
		if tt.away {
			docs.left = 1
		}
		a := &arrived{stored: tt.stored}
		counts, over := s.enter(t.Context(), &taskDriver{}, "run_1", &tt.res, a)
		if counts != tt.counts || over || a.said != tt.said {
			t.Errorf("%s: counts %v, and it was over before: %v; the host was told %q", name, counts, over, a.said)
		}
		if got, err := s.kept.get(t.Context(), "run_1"); err != nil || got.Status != tt.status {
			t.Errorf("%s: the task is %+v, %v; want %v", name, got, err, tt.status)
		}
		s.close()
	}
}
