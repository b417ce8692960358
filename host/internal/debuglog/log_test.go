package debuglog_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/internal/debuglog"
)

// logged runs use with a log of that environment and returns its lines.
func logged(env map[string]string, use func(*debuglog.Log)) string {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	use(debuglog.New(func(k string) string { return env[k] }, slog.New(h)))
	return b.String()
}

// useAll asks for a line of each kind.
func useAll(l *debuglog.Log) {
	l.Decision("run started", "run", "run_1")
	l.Payload([]string{"exec", "wait"}, []byte(`{"tools":["exec"],"apiKey":"hunter2"}`))
	s := l.Stream("events")
	for i := range 7 {
		s.Event("call_ended", fmt.Appendf(nil, `{"n":%d,"password":"hunter2"}`, i))
	}
}

// TestVariables is the table of what each value turns on.
func TestVariables(t *testing.T) {
	decision := "level=INFO msg=\"code mode: run started\" run=run_1\n"
	tools := "level=INFO msg=\"model payload\" count=2 tools=\"[exec wait]\"\n"
	full := "level=INFO msg=\"model payload\" count=2 tools=\"[exec wait]\" bytes=37 body=\"{\\\"apiKey\\\":\\\"[redacted]\\\",\\\"tools\\\":[\\\"exec\\\"]}\"\n"
	var events, peek string
	for i := range 7 {
		line := fmt.Sprintf("level=INFO msg=\"server-sent event\" stream=events number=%d event=call_ended bytes=28", i+1)
		events += line + "\n"
		if i < 5 {
			peek += line + fmt.Sprintf(" data=\"{\\\"n\\\":%d,\\\"password\\\":\\\"[redacted]\\\"}\"\n", i)
		}
	}
	for _, c := range []struct{ name, value, want string }{
		{debuglog.EnvCodeMode, "", ""},
		{debuglog.EnvCodeMode, "0", ""},
		{debuglog.EnvCodeMode, "1", decision},
		{debuglog.EnvPayload, "tools", tools},
		{debuglog.EnvPayload, "full-redacted", full},
		{debuglog.EnvSSE, "events", events},
		{debuglog.EnvSSE, "peek", peek},
		{debuglog.EnvCodeMode, "yes", "level=WARN msg=\"QUOIN_DEBUG_CODE_MODE is \\\"yes\\\", expected 1, or nothing; it is ignored\"\n"},
		{debuglog.EnvPayload, "full", "level=WARN msg=\"QUOIN_DEBUG_MODEL_PAYLOAD is \\\"full\\\", expected tools or full-redacted, or nothing; it is ignored\"\n"},
		{debuglog.EnvTransport, "1", "level=WARN msg=\"QUOIN_DEBUG_MODEL_TRANSPORT is ignored: there is no transport to models here; QUOIN_DEBUG_MODEL_PAYLOAD and QUOIN_DEBUG_SSE log what passes through\"\n"},
		{debuglog.EnvSSE, "1", "level=WARN msg=\"QUOIN_DEBUG_SSE is \\\"1\\\", expected events or peek, or nothing; it is ignored\"\n"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			env := map[string]string{c.name: c.value}
			if d := cmp.Diff(c.want, logged(env, useAll)); d != "" {
				t.Errorf("log (-want +got):\n%s", d)
			}
			if wanted := debuglog.Wanted(func(k string) string { return env[k] }); wanted != (c.value != "") {
				t.Errorf("Wanted is %v", wanted)
			}
		})
	}
}

// TestOffIsNil lets callers use a log without asking whether there is one.
func TestOffIsNil(t *testing.T) {
	logged(nil, func(l *debuglog.Log) {
		if l != nil || l.CodeMode() {
			t.Error("there is a log although nothing is asked for")
		}
		useAll(l)
	})
}

// TestCaps bounds what one line can hold.
func TestCaps(t *testing.T) {
	env := map[string]string{debuglog.EnvPayload: "full-redacted", debuglog.EnvSSE: "peek"}
	out := logged(env, func(l *debuglog.Log) {
		l.Payload([]string{strings.Repeat("n", 5000)}, fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1<<20)))
		l.Payload(make([]string, 10_000), nil)
		l.Stream("s").Event("e", []byte("not JSON, token=hunter2 "+strings.Repeat("y", 10_000)))
	})
	for i, line := range strings.SplitAfter(out, "\n") {
		if limit := 80 << 10; len(line) > limit {
			t.Errorf("line %d is %d bytes long", i, len(line))
		}
	}
	for _, part := range []string{"[4744 bytes omitted]", "omittedBytes", "count=10000", "token=[redacted]"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(out, "hunter2") {
		t.Error("a secret came out")
	}
}
