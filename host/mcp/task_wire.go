package mcp

import (
	"encoding/base64"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The extension of the protocol by which a server continues a call by itself, and its methods.
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	methodTaskGet  = "tasks/get"
	methodTaskTell = "tasks/update"
	methodTaskStop = "tasks/cancel"
)

// The bounds of what a server says of a task.
const (
	maxTaskID = 1 << 10            // bytes
	maxNamed  = 7 * 24 * time.Hour // the longest duration
)

// task is a call that a server continues by itself. Its fields go into a run's record.
type task struct {
	ID string `json:"id"`
	// Poll is how long the server wants to be left alone, Until when the task is given up.
	Poll  time.Duration `json:"poll"`
	Until time.Time     `json:"until"`
}

// taskParams are the parameters of all methods of tasks.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// taskResult stands for what is captured as the server sent it.
type taskResult struct {
	sdk.ResultBase
}

// registerTasks tells the SDK the methods of tasks.
func registerTasks(client *sdk.Client) error {
	var errs []error
	for _, method := range []string{methodTaskGet, methodTaskTell, methodTaskStop} {
		errs = append(errs, sdk.AddSendingCustomMethod[*taskParams, *taskResult](client, method))
	}
	return errors.Join(errs...)
}

// headerValue is a text as a header carries it: as it is, or encoded if it has characters
// that headers do not have.
func headerValue(s string) string {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}

// taskNameKey is the context key of the task that a request is about.
type taskNameKey struct{}

// milliseconds is a duration that a server names, within bounds.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), int64(maxNamed/time.Millisecond))) * time.Millisecond
}
