package mcpserver

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
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
	Output  []codemode.Output            `json:"output,omitempty"`  // so far
	Answers map[string]*mcp.ElicitResult `json:"answers,omitempty"` // to questions that are put together
	Result  json.RawMessage              `json:"result,omitempty"`
	Error   *taskError                   `json:"error,omitempty"`
}

// maxTaskOutput bounds the output of a task in bytes. It is several times the bound of one
// result.
const maxTaskOutput = 1 << 20

// takeOutput adds the output that fits.
func (t *task) takeOutput(more []codemode.Output) {
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

// fail ends the task with an error in place of a result.
func (t *task) fail(message string) {
	t.Error = &taskError{Code: jsonrpc.CodeInternalError, Message: message}
	t.end(taskFailed, message)
}

// cancel ends the task for its client, unless it has ended before.
func (t *task) cancel() error {
	if !t.Status.ended() {
		t.end(taskCancelled, "cancelled by the client")
	}
	return nil
}
