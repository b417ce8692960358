package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
)

// Tasks keeps the tasks of clients for a day, in a directory or in the database of package
// host/postgres. Servers that share it answer for each other's tasks. It is safe for
// concurrent use.
type Tasks struct {
	docs taskDocuments

	mu    sync.Mutex
	swept time.Time // when tasks that are over were last looked for
}

// taskDocuments is what tasks need of a documents.Store.
type taskDocuments interface {
	Replace(ctx context.Context, name string, content []byte, expires time.Time) error
	Read(ctx context.Context, name string) ([]byte, error)
	Names(ctx context.Context, ext string, due time.Time) ([]string, error)
	Counts(ctx context.Context) (map[string]int, error)
	Remove(ctx context.Context, names ...string) error
	Sweep(ctx context.Context, now time.Time, keep int) error
	Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error)
}

// taskExt is the extension of the documents of tasks. Their names are the ids of runs.
const taskExt = ".task"

// maxTasks bounds the tasks of one store, maxTask the bytes of one.
const (
	maxTasks = 10_000
	maxTask  = 16 << 20
)

// taskSweep is how often a server looks for tasks that are over.
const taskSweep = time.Minute

// OpenTasks opens the tasks in a directory, and makes it with mode 0700 if it is not there.
// They are encrypted with the key of the run store. Processes may share the directory.
func OpenTasks(dir string, runs *runstore.Dir) (*Tasks, error) {
	docs, err := documents.OpenDir(dir, documents.DirOptions{MaxBytes: maxTask, Private: true})
	if err != nil {
		return nil, fmt.Errorf("directory of tasks: %w", err)
	}
	c, err := runs.Cipher("MCP tasks")
	if err != nil {
		return nil, err
	}
	return NewTasks(documents.Sealed(docs, documents.Encrypted(c))), nil
}

// NewTasks returns the tasks in docs: a driver's store with encrypted contents, such as the
// one that the method Tasks of package host/postgres returns.
func NewTasks(docs documents.Store) *Tasks { return &Tasks{docs: docs} }

// add stores a new task.
func (ts *Tasks) add(ctx context.Context, t *task) error {
	if err := ts.sweep(ctx, time.Now()); err != nil {
		return err
	}
	counts, err := ts.docs.Counts(ctx)
	if err != nil {
		return err
	}
	if counts[taskExt] >= maxTasks {
		return fmt.Errorf("%d tasks are kept, which is the most", maxTasks)
	}
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return ts.put(ctx, t, b)
}

// put stores a task as the text b.
func (ts *Tasks) put(ctx context.Context, t *task, b []byte) error {
	return ts.docs.Replace(ctx, t.RunID+taskExt, b, t.Created.Add(taskLifetime))
}

// get returns a task. The error is fs.ErrNotExist if it does not exist.
func (ts *Tasks) get(ctx context.Context, id string) (*task, error) {
	t, _, err := ts.read(ctx, id)
	return t, err
}

// read is get, and returns the text of the task, too.
func (ts *Tasks) read(ctx context.Context, id string) (*task, []byte, error) {
	b, err := ts.docs.Read(ctx, id+taskExt)
	if err != nil {
		return nil, nil, err
	}
	t := new(task)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, nil, err
	}
	if time.Since(t.Created) > taskLifetime {
		return nil, nil, fs.ErrNotExist
	}
	return t, b, nil
}

// change stores a task as f leaves it. No other process changes it at the same time.
func (ts *Tasks) change(ctx context.Context, id string, f func(*task) error) error {
	ctx, unlock, err := ts.docs.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	t, was, err := ts.read(ctx, id)
	if err != nil {
		return err
	}
	before := t.Status
	if err := f(t); err != nil {
		return err
	}
	if t.Status != before {
		t.Updated = time.Now().UTC()
	}
	b, err := json.Marshal(t)
	if err != nil || bytes.Equal(b, was) {
		return err
	}
	return ts.put(ctx, t, b)
}

// driver has this process alone drive the run of a task: what two of them are given in
// turn would be stored in any order. It waits for another one until wait ends, and no longer
// than patience: the error is context.Canceled then. What is stored with the context held is
// refused once this process drives it no more.
func (ts *Tasks) driver(wait context.Context, id string, patience time.Duration) (held context.Context, unlock func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	timer, ignore := time.AfterFunc(patience, cancel), context.AfterFunc(wait, cancel)
	held, free, err := ts.docs.Lock(ctx, id+driverLock)
	inTime, wanted := timer.Stop(), ignore()
	switch {
	case err != nil:
		cancel()
		return nil, nil, err
	case !inTime || !wanted:
		cancel()
		free()
		return nil, nil, context.Canceled
	}
	return held, func() { free(); cancel() }, nil
}

// driverLock is what the name of the lock of a driver ends with.
const driverLock = ".driver"

// sweep removes the tasks that are over, once a minute, and what processes that were killed
// have left.
func (ts *Tasks) sweep(ctx context.Context, now time.Time) error {
	if !ts.isSweepDue(now) {
		return nil
	}
	if err := ts.docs.Sweep(ctx, now, 0); err != nil {
		return err
	}
	over, err := ts.docs.Names(ctx, taskExt, now)
	if err != nil {
		return err
	}
	var gone []string
	for _, name := range over {
		id := strings.TrimSuffix(name, taskExt)
		gone = append(gone, name, id+".lock", id+driverLock+".lock")
	}
	if len(gone) == 0 {
		return nil
	}
	if err := ts.docs.Remove(ctx, gone...); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// isSweepDue reports whether the last sweep is long ago, and notes this one.
func (ts *Tasks) isSweepDue(now time.Time) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if now.Sub(ts.swept) < taskSweep {
		return false
	}
	ts.swept = now
	return true
}

const taskLifetime = 24 * time.Hour
