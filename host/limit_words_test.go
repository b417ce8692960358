package host_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestLimitsAreNamed: who runs into a limit learns how much it is and which
// setting it comes from.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	slow := start(t, host.Config{Settings: host.Settings{Timeout: 400 * time.Millisecond}})
	small := start(t, host.Config{Settings: host.Settings{MemoryLimit: 4 << 20}})
	const spin, fill = `for (;;) ;`, `const a = []; for (;;) a.push("x".repeat(1000) + a.length)`
	for _, tc := range []struct {
		h    *host.Host
		in   host.ExecInput
		want string
	}{
		{slow, host.ExecInput{Code: spin}, " A program may compute for 400ms in one go (tools.codeMode.timeoutMs)."},
		{slow, host.ExecInput{Code: spin, Timeout: 200 * time.Millisecond}, " This program was given 200ms to compute in one go; the setting tools.codeMode.timeoutMs allows 400ms."},
		{small, host.ExecInput{Code: fill}, " A program may use 4 MiB of memory (tools.codeMode.memoryLimitBytes)."},
	} {
		r := tc.h.Exec(t.Context(), me, tc.in)
		if r.Status != host.StatusFailed || !strings.HasSuffix(r.Error, tc.want) {
			t.Errorf("%+v: %s\nwant it to end with %q", tc.in, show(r), tc.want)
		}
	}
}

// TestWaitAfterTheEnd: the fixed sentence of a run that is not there is followed by
// what this host knows of it, for its owner.
func TestWaitAfterTheEnd(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	wantValue(t, h.Wait(t.Context(), me, id), `1`)
	const fixed = "code mode run is unavailable or expired."
	for _, tc := range []struct {
		s        host.Session
		id, want string
	}{
		{me, id, fixed + " It has ended, and its last result was the final one; there is nothing to wait for any more."},
		{host.Session{SessionID: "other"}, id, fixed + " A run can be waited for while its last result was waiting. Nothing is known of this one: if its program called tools, find out what they did before you start it again."},
		{me, "run_00112233445566778899aabbccddeeff", fixed + " A run can be waited for while its last result was waiting. Nothing is known of this one: if its program called tools, find out what they did before you start it again."},
	} {
		r := h.Wait(t.Context(), tc.s, tc.id)
		wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
		if r.Error != tc.want {
			t.Errorf("%s: got %q, want %q", tc.id, r.Error, tc.want)
		}
	}
}
