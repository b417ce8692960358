package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/awake/awaketest"
)

// pausedKey makes the test binary a host that is stopped.
const pausedKey = "QUOIN_TEST_PAUSED"

func servePaused() bool {
	var serve func() error
	switch {
	case os.Getenv(pausedKey) != "":
		serve = paused
	case os.Getenv(struckTwiceKey) != "":
		serve = serveStruckTwice
	case os.Getenv(struckKey) != "":
		serve = serveStruck
	default:
		return false
	}
	if err := serve(); err != nil {
		log.Fatal(err)
	}
	return true
}

// paused runs a program that waits for a tool. The tool stops the guest workers, says their
// process ids, says each few milliseconds that the host runs, and answers when it is told to.
// In the meantime the guest is to leave its worker, which it has two seconds for.
func paused() error {
	hold := catalog.Tool{Name: "hold", Description: "Stops the workers.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		workers, err := children()
		for _, pid := range workers {
			err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
		}
		err = errors.Join(err, json.NewEncoder(os.Stdout).Encode(workers))
		awaketest.Beat()
		bufio.NewScanner(os.Stdin).Scan()
		return json.RawMessage(`"held"`), err
	}}
	h, err := host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:  []catalog.Tool{hold},
	})
	if err != nil {
		return err
	}
	in := host.ExecInput{Code: `return await tools.hold()`, Timeout: time.Second, Wait: time.Minute}
	fmt.Println(show(h.Exec(context.Background(), me, in)))
	return h.Close()
}

// children are the processes that this one has started.
func children() (pids []int, err error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, s := range strings.Fields(string(text)) {
			pid, notOne := strconv.Atoi(s)
			pids, err = append(pids, pid), errors.Join(err, notOne)
		}
	}
	return pids, err
}

// TestAHostThatStoodStillEndsNoRun stops a host for longer than a worker may take to hand
// its guest over. The worker answers when the host has been running again for a while.
func TestAHostThatStoodStillEndsNoRun(t *testing.T) {
	t.Parallel()
	p := startHost(t, pausedKey+"=1")
	var workers []int
	if err := json.Unmarshal([]byte(p.next()), &workers); err != nil || len(workers) == 0 {
		t.Fatalf("the host said %q: %v", p.said, err)
	}
	awaketest.Runs(t, p.next)
	awaketest.Pause(t, p.cmd.Process.Pid, 3*time.Second)
	awaketest.Runs(t, p.next)
	for _, pid := range workers {
		awaketest.Continue(t, pid)
	}
	if _, err := io.WriteString(p.stdin, "answer\n"); err != nil {
		t.Fatal(err)
	}
	said := awaketest.Next(p.next)
	var r host.Result
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		t.Fatalf("the host said %q: %v", said, err)
	}
	wantValue(t, &r, `"held"`)
	for p.lines.Scan() { // until it ends
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr.String())
	}
}
