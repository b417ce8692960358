package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// doomed is a host that has connected to a server, says which process that is, and
// waits to be killed.
func doomed() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := Connect([]Server{{Name: "good", Command: exe, Env: map[string]string{roleKey: "good"}}}, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := s.Tried(context.Background()); err != nil {
		return err
	}
	for _, tool := range []string{"environment", "spawn"} {
		raw, err := s.Call(context.Background(), Request{Server: "good", Tool: tool, Input: json.RawMessage(`{}`)})
		if err != nil {
			return err
		}
		var out map[string]any
		if err := json.Unmarshal(raw, &out); err != nil {
			return err
		}
		fmt.Println(pid(out))
	}
	select {}
}

// TestNoServerOutlivesAKilledHost: SIGKILL of the host is SIGKILL of its servers, and of what they have started.
func TestNoServerOutlivesAKilledHost(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleKey+"=doomed")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	server, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	line, err = in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the host ended by itself")
	}
	waitGone(t, server)
	waitGone(t, child)
}
