package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake/awaketest"
)

// paused is a host that calls a tool with the input that it is given.
func paused() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	server := Server{Name: "good", Command: exe, Env: map[string]string{roleKey: "good"}, CallTimeout: 2 * time.Second}
	s, err := Connect([]Server{server}, Options{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = s.Tried(context.Background())
	}
	if err != nil {
		return err
	}
	call := func(tool, input string) (json.RawMessage, error) {
		return s.Call(context.Background(), Request{Server: "good", Tool: tool, Input: json.RawMessage(input)})
	}
	raw, err := call("environment", "{}")
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return err
	}
	awaketest.Ask(pid(out), func(input string) string {
		raw, err := call("echo", input)
		return fmt.Sprintf("%s %v", raw, err)
	}, s.Close)
	return nil
}

// TestAHostThatStoodStillDoesNotBlameItsServer: a call gets its time.
func TestAHostThatStoodStillDoesNotBlameItsServer(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"=paused")
	got := awaketest.Answer(t, cmd, `{"text":"here"}`)
	if !strings.Contains(got, `"text":"here"`) || !strings.HasSuffix(got, " <nil>") {
		t.Errorf("the call came to %q", got)
	}
}
