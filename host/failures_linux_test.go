package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// failureCase is one way to fail, for real.
type failureCase struct {
	name   string
	code   codemode.Code
	reason codemode.Reason
	phase  codemode.Phase
	// dispatched says that a tool had been called.
	dispatched bool
	say        string // part of the error
	do         func(t *testing.T) *host.Result
}

// cell fails by a program alone, in a host with the tools echo and broken.
func cell(code string) func(*testing.T) *host.Result {
	return cellOf(host.Config{}, host.ExecInput{Code: code})
}

func cellOf(cfg host.Config, in host.ExecInput) func(*testing.T) *host.Result {
	return func(t *testing.T) *host.Result {
		cfg.Tools = []catalog.Tool{echo("echo"), failing("broken", "it broke")}
		return start(t, cfg).Exec(context.Background(), me, in)
	}
}

// onlyTimeout is what every timeout says, whichever side stopped the program.
const onlyTimeout = "code mode timeout exceeded. This program was given "

var failureCases = []failureCase{
	{"empty code", codemode.CodeInvalidInput, "", codemode.PhaseInput, false, "code is missing", cell(" ")},
	{"disabled", codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, false, "code mode is disabled",
		cellOf(host.Config{Settings: host.Settings{Disabled: true}}, host.ExecInput{Code: `return 1`})},
	{"unknown language", codemode.CodeInvalidInput, codemode.ReasonUnsupportedLanguage, codemode.PhaseInput, false, "python",
		cellOf(host.Config{}, host.ExecInput{Code: `return 1`, Language: "python"})},
	{"invalid TypeScript", codemode.CodeInvalidInput, codemode.ReasonTypeScript, codemode.PhaseInput, false, "",
		cellOf(host.Config{}, host.ExecInput{Code: `let x: = 1`, Language: "typescript"})},
	{"modules", codemode.CodeInvalidInput, codemode.ReasonModuleAccess, codemode.PhaseInput, false, "module", cell(`import fs from "fs"`)},
	{"syntax", codemode.CodeInvalidInput, codemode.ReasonSyntax, codemode.PhaseInput, false, "cell.js:1", cell(`const = 1`)},
	{"shell", codemode.CodeInvalidInput, codemode.ReasonShell, codemode.PhaseInput, false, "shell", cell(`ls -la /tmp`)},
	{"exception", codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest, false, "Error: no", cell(`throw new Error("no")`)},
	{"exception after a call", codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest, true, "Error: no",
		cell(`await tools.echo({}); throw new Error("no")`)},
	{"promise without host work", codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest, false, "code mode promise is pending without host work",
		cell(`await new Promise(() => {})`)},
	{"tool error that nobody catches", codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge, true, "it broke", cell(`await tools.broken()`)},
	{"unknown tool", codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge, false, "Unknown tool", cell(`await tools.call("nope", {})`)},
	{"endless loop", codemode.CodeTimeout, "", codemode.PhaseGuest, false, onlyTimeout,
		cellOf(host.Config{}, host.ExecInput{Code: `for (;;);`, Timeout: soon})},
	{"loop that only a kill stops", codemode.CodeTimeout, "", codemode.PhaseGuest, false, onlyTimeout,
		cellOf(host.Config{}, host.ExecInput{Code: `[].indexOf.call({length: 2 ** 53 - 1}, 1)`, Timeout: soon})},
	{"memory", codemode.CodeMemoryLimit, "", codemode.PhaseGuest, false, "code mode memory limit exceeded. A program may use 4 MiB",
		cellOf(host.Config{Settings: host.Settings{MemoryLimit: 4 << 20}}, host.ExecInput{Code: `const a = []; for (;;) a.push("x".repeat(1000) + a.length)`})},
	{"value too large", codemode.CodeOutputLimit, "", codemode.PhaseGuest, false, "bytes beyond the limit of 1024 were omitted",
		cellOf(host.Config{Settings: host.Settings{MaxOutput: 1 << 10}}, host.ExecInput{Code: `return "x".repeat(5000)`})},
	{"output too large", codemode.CodeOutputLimit, "", codemode.PhaseGuest, true, "bytes beyond the limit of 1024 were omitted",
		cellOf(host.Config{Settings: host.Settings{MaxOutput: 1 << 10}}, host.ExecInput{Code: `await tools.echo({}); text("x".repeat(5000))`})},
	{"more bytes than the session's share", codemode.CodeMemoryLimit, codemode.ReasonQuota, codemode.PhaseHost, true, "quotas.heldBytes",
		cellOf(host.Config{Settings: host.Settings{MaxOutput: 10 << 20}, Quotas: host.Quotas{HeldBytes: 16 << 20}},
			host.ExecInput{Code: `for (let i = 0; i < 9; i++) { text("x".repeat(1 << 20)); await tools.echo({}) }`})},
	{"snapshot too large", codemode.CodeSnapshotLimit, "", codemode.PhaseGuest, false, "",
		cellOf(host.Config{Settings: host.Settings{MaxSnapshot: 1 << 10}}, host.ExecInput{Code: `await yield_control()`})},
	{"burst too large", codemode.CodeInvalidInput, codemode.ReasonTooManyPending, codemode.PhaseBridge, false, "None of those since the last await was started",
		cell(`await Promise.all(Array.from({length: 4017}, () => tools.echo({})))`)},
	{"run that is unknown", codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput, true, "code mode run is unavailable or expired.",
		func(t *testing.T) *host.Result {
			return start(t, host.Config{}).Wait(context.Background(), me, "run_00112233445566778899aabbccddeeff")
		}},
	{"run that has expired", codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput, false, "code mode run is unavailable or expired.", expired},
	{"run of another session", codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput, false, "code mode run belongs to a different session.",
		func(t *testing.T) *host.Result {
			h := start(t, host.Config{})
			return h.Wait(context.Background(), host.Session{}, wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield))
		}},
	{"run of another turn", codemode.CodeInvalidInput, codemode.ReasonWrongRun, codemode.PhaseInput, false, "code mode run belongs to a different agent run.",
		func(t *testing.T) *host.Result {
			h := start(t, host.Config{})
			other := me
			other.TurnID = "another"
			return h.Wait(context.Background(), other, wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield))
		}},
	{"run that is being resumed", codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput, false, "code mode run is already being resumed.", busy},
	{"too many suspended runs", codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost, false, "too many suspended code mode runs.",
		func(t *testing.T) *host.Result {
			h := start(t, host.Config{Settings: host.Settings{MaxSuspended: 1}})
			wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
			return exec(h, `await yield_control()`)
		}},
	{"tools that the host lacks", codemode.CodeInvalidInput, codemode.ReasonToolsMissing, codemode.PhaseHost, true, "was suspended with the plugin notes", func(t *testing.T) *host.Result {
		dir := mkdir(t)
		first := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{owned("read", "notes")}})
		id := wantWaiting(t, exec(first, `await tools.read({}); await yield_control()`), codemode.ReasonYield)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		return start(t, host.Config{Store: openState(t, dir)}).Wait(context.Background(), me, id)
	}},
	{"store that fails", codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost, false, "The run is kept as it was", func(t *testing.T) *host.Result {
		dir := mkdir(t)
		h := start(t, host.Config{Store: openState(t, dir)})
		id := wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
		breakState(t, dir, "records", "hidden")
		t.Cleanup(func() { breakState(t, dir, "hidden", "records") })
		return h.Wait(context.Background(), me, id)
	}},
	{"damaged record", codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, false, "cannot be restored", damaged},
	{"worker killed", codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, false, "killed by signal 9", struck},
	{"forbidden system call", codemode.CodeInternal, codemode.ReasonSandboxViolation, codemode.PhaseHost, false, "sandbox forbids", badCall},
	{"no worker", codemode.CodeUnavailable, "", codemode.PhaseHost, false, "every guest worker is busy", func(t *testing.T) *host.Result {
		h := start(t, host.Config{Guests: host.GuestConfig{Max: 1}})
		done := spin(h)
		r := h.Exec(context.Background(), me, host.ExecInput{Code: `return 1`, Wait: soon})
		h.EndSession(context.Background(), me)
		<-done
		return r
	}},
	{"host that has closed", codemode.CodeUnavailable, "", codemode.PhaseHost, false, "shutting down", func(t *testing.T) *host.Result {
		h := start(t, host.Config{})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		return exec(h, `return 1`)
	}},
	{"run of an engine that is gone", codemode.CodeUnavailable, codemode.ReasonEngineUnavailable, codemode.PhaseHost, false, "make native", func(t *testing.T) *host.Result {
		dir := mkdir(t)
		first := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Engine: host.EngineNative, NativePath: renamedGuest(t)}})
		id := wantWaiting(t, exec(first, `await yield_control()`), codemode.ReasonYield)
		shut(t, first)
		second := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: defaultGuest(t)}})
		return second.Wait(context.Background(), me, id)
	}},
	{"caller that goes away", codemode.CodeAborted, "", codemode.PhaseHost, false, "aborted", func(t *testing.T) *host.Result {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return start(t, host.Config{}).Exec(ctx, me, host.ExecInput{Code: `for (;;);`})
	}},
}

// TestEveryFailure produces every code and every reason there is, for real.
func TestEveryFailure(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, tc := range failureCases {
		seen[string(tc.code)], seen[string(tc.reason)] = true, true
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := tc.do(t)
			wantFailure(t, r, tc.code, tc.reason, tc.phase)
			if r.Dispatched != tc.dispatched || !strings.Contains(r.Error, tc.say) {
				t.Errorf("got %s\nwant dispatched %v, and %q", show(r), tc.dispatched, tc.say)
			}
			if len(r.Error) > 8<<10 || !utf8.ValidString(r.Error) {
				t.Errorf("an error of %d bytes", len(r.Error))
			}
		})
	}
	seen[string(codemode.ReasonReplayDiverged)] = true // see TestAReplayThatTakesAnotherPathIsStopped
	for _, name := range declared(t, "Code", "Reason") {
		if !seen[name] {
			t.Errorf("nothing produces %q", name)
		}
	}
}

// declared returns the values of the constants of result.go that have one of the
// types, the reasons of waiting results aside.
func declared(t *testing.T, types ...string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codemode/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := map[string]bool{"pending_tools": true, "timer": true, "yield": true, "approval": true}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		name, ok := spec.Type.(*ast.Ident)
		lit, ok2 := spec.Values[0].(*ast.BasicLit)
		if !ok || !ok2 {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		for _, want := range types {
			if err == nil && name.Name == want && !waiting[value] {
				values = append(values, value)
			}
		}
		return true
	})
	if len(values) < 20 {
		t.Fatalf("found only %q", values)
	}
	return values
}

// expired waits for a run that has expired. The host of the run is gone.
func expired(t *testing.T) *host.Result {
	dir := mkdir(t)
	h := start(t, host.Config{Store: openState(t, dir)})
	first := start(t, host.Config{Store: openState(t, dir), Settings: host.Settings{SnapshotTTL: time.Second}})
	id := wantWaiting(t, exec(first, `await yield_control()`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Second) // the clock alone ends its time
	return h.Wait(context.Background(), me, id)
}

func busy(t *testing.T) *host.Result {
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(h, `await yield_control(); await tools.slow()`), codemode.ReasonYield)
	first := make(chan *host.Result)
	go func() { first <- h.Wait(context.Background(), me, id) }()
	<-g.entered
	r := h.Wait(context.Background(), me, id)
	close(g.open)
	<-first
	return r
}

func damaged(t *testing.T) *host.Result {
	dir := mkdir(t)
	first := start(t, host.Config{Store: openState(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control()`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	alterState(t, dir, `UPDATE records SET header = CAST('not a run' AS BLOB)`)
	return start(t, host.Config{Store: openState(t, dir)}).Wait(context.Background(), me, id)
}

// spin returns once a cell of h computes without end.
func spin(h *host.Host) <-chan *host.Result {
	done := make(chan *host.Result, 1)
	go func() { done <- exec(h, `for (;;);`) }()
	for {
		r := h.Exec(context.Background(), me, host.ExecInput{Code: `return 1`, Wait: soon})
		if r.Status == host.StatusFailed {
			return done
		}
	}
}

// struck kills the worker in which a cell computes, in a process that has no other workers.
func struck(t *testing.T) *host.Result {
	p := startHost(t, struckKey+"=1")
	said := p.next()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr.String())
	}
	var r host.Result
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		t.Fatalf("the host said %q: %v", said, err)
	}
	return &r
}

// struckKey makes the test binary the host of struck.
const struckKey = "QUOIN_TEST_STRUCK"

func serveStruck() error {
	h, err := host.New(context.Background(), host.Config{
		Guests:   host.GuestConfig{Path: os.Getenv(doomedGuest), Max: 1},
		Settings: host.Settings{Timeout: time.Minute},
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	done := spin(h)
	workers, err := children()
	for _, pid := range workers {
		if e := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	fmt.Println(show(<-done))
	return errors.Join(err, h.Close())
}

// badCall runs a cell in a worker that tries to open a socket.
func badCall(t *testing.T) *host.Result {
	bin, err := hosttest.Program("guestrt/testdata/badguest")
	if err != nil {
		t.Fatal(err)
	}
	return exec(start(t, host.Config{Guests: host.GuestConfig{Path: bin}}), `return 1`)
}
