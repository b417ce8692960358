package mcpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/durable"
)

// taskStatus is how a task stands.
type taskStatus string

const (
	taskWorking       taskStatus = "working"
	taskInputRequired taskStatus = "input_required" // never stored: the approvals say it
	taskCompleted     taskStatus = "completed"
	taskFailed        taskStatus = "failed"
	taskCancelled     taskStatus = "cancelled"
)

func (s taskStatus) ended() bool { return s != taskWorking && s != taskInputRequired }

// taskError is the error of a task that failed, as JSON-RPC has it.
type taskError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// task is what is stored of a task. Its id is the run's.
type task struct {
	Caller  string                       `json:"caller"` // identity of its session
	RunID   string                       `json:"run"`
	Direct  bool                         `json:"direct,omitempty"` // a call of a direct tool, not of exec
	Created time.Time                    `json:"created"`
	Updated time.Time                    `json:"updated"`
	Status  taskStatus                   `json:"status"`
	Message string                       `json:"message,omitempty"`
	Output  []host.Output                `json:"output,omitempty"`  // so far
	Answers map[string]*mcp.ElicitResult `json:"answers,omitempty"` // to questions that are put together
	Result  json.RawMessage              `json:"result,omitempty"`
	Error   *taskError                   `json:"error,omitempty"`
}

// maxTaskOutput bounds the output of a task in bytes. It is several times that of one
// result.
const maxTaskOutput = 1 << 20

// takeOutput adds output, as far as it fits.
func (t *task) takeOutput(more []host.Output) {
	size := 0
	for _, o := range t.Output {
		size += len(o.Value)
	}
	for _, o := range more {
		if size += len(o.Value); size > maxTaskOutput {
			t.Message = fmt.Sprintf("output beyond %d bytes is left out", maxTaskOutput)
			return
		}
		t.Output = append(t.Output, o)
	}
}

// keepAnswer keeps one of several answers that are entered together.
func (t *task) keepAnswer(key string, r *mcp.ElicitResult) {
	if t.Answers == nil {
		t.Answers = map[string]*mcp.ElicitResult{}
	}
	t.Answers[key] = r
}

// end gives the task its last status.
func (t *task) end(s taskStatus, message string) {
	t.Status = s
	if message != "" {
		t.Message = message
	}
}

// TaskStore keeps tasks by their ids. Its methods are safe for concurrent use.
type TaskStore interface {
	// Put stores a task, in place of the one of that id, until a time. It fails with
	// ErrTooManyTasks if there is no room for one more.
	Put(id string, task []byte, until time.Time) error
	// Get returns a task. The error is fs.ErrNotExist if it has no such task.
	Get(id string) ([]byte, error)
}

// ErrTooManyTasks says that a store of tasks is full.
var ErrTooManyTasks = errors.New("too many tasks are kept")

// maxTasks bounds the tasks of one store, maxTask the bytes of one.
const (
	maxTasks = 10_000
	maxTask  = 16 << 20
)

// TaskDir is a TaskStore in a directory, which processes may share.
type TaskDir struct {
	dir   string
	mu    sync.Mutex
	count int
	swept time.Time
}

// OpenTaskDir opens a store in a directory, and makes the directory if it is not there.
func OpenTaskDir(dir string) (*TaskDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &TaskDir{dir: dir}, nil
}

// path is the file of a task. Its name is nothing that a client has chosen.
func (d *TaskDir) path(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(d.dir, hex.EncodeToString(sum[:])+".task")
}

// Put implements TaskStore. The modification time of a file is when it is over.
func (d *TaskDir) Put(id string, task []byte, until time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sweep(time.Now()); err != nil {
		return err
	}
	path := d.path(id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if d.count >= maxTasks {
			return ErrTooManyTasks
		}
		d.count++
	}
	return durable.Replace(path, task, durable.Options{ModTime: until})
}

// Get implements TaskStore.
func (d *TaskDir) Get(id string) ([]byte, error) {
	return durable.ReadPrivate(d.path(id), maxTask)
}

// sweep removes what is over, once a minute.
func (d *TaskDir) sweep(now time.Time) error {
	if now.Sub(d.swept) < time.Minute {
		return nil
	}
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	d.swept, d.count = now, 0
	for _, f := range files {
		info, err := f.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process was first
			continue
		case err != nil:
			return err
		}
		age := now.Sub(info.ModTime()) // a temporary file has the time of its task, too
		if age <= 0 {
			d.count++
			continue
		}
		if err := os.Remove(filepath.Join(d.dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// memoryTasks is the TaskStore of a server that has none.
type memoryTasks struct {
	mu    sync.Mutex
	tasks map[string]memoryTask
}

type memoryTask struct {
	task  []byte
	until time.Time
}

func (m *memoryTasks) Put(id string, t []byte, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tasks[id]; !ok && len(m.tasks) >= maxTasks {
		for id, kept := range m.tasks {
			if time.Now().After(kept.until) {
				delete(m.tasks, id)
			}
		}
		if len(m.tasks) >= maxTasks {
			return ErrTooManyTasks
		}
	}
	m.tasks[id] = memoryTask{t, until}
	return nil
}

func (m *memoryTasks) Get(id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tasks[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return t.task, nil
}

// tasks are the tasks of a server, sealed, so that who can write to the store cannot
// make one.
type tasks struct {
	mu     sync.Mutex // changes of this process
	server *Server
}

// taskLabel keeps tasks apart from what the same key seals for other purposes, and from
// each other.
func taskLabel(id string) []byte { return []byte("quoin mcp task 1 " + id) }

func (ts *tasks) put(t *task) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	aead := ts.server.options.Cipher
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	return ts.server.options.Tasks.Put(t.RunID, aead.Seal(nonce, nonce, b, taskLabel(t.RunID)), t.Created.Add(taskLifetime))
}

func (ts *tasks) get(id string) (*task, error) {
	b, err := ts.server.options.Tasks.Get(id)
	if err != nil {
		return nil, err
	}
	aead := ts.server.options.Cipher
	size := aead.NonceSize()
	if len(b) < size {
		return nil, errors.New("it is damaged")
	}
	if b, err = aead.Open(nil, b[:size], b[size:], taskLabel(id)); err != nil {
		return nil, errors.New("it is damaged, or of another state directory")
	}
	t := new(task)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, err
	}
	if time.Since(t.Created) > taskLifetime {
		return nil, fs.ErrNotExist
	}
	return t, nil
}

// change stores a task as f leaves it.
func (ts *tasks) change(id string, f func(*task) error) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, err := ts.get(id)
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
	return ts.put(t)
}
