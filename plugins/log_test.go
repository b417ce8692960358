//go:build linux

package plugins

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/childprocess"
)

func TestLogFloodIsCapped(t *testing.T) {
	t.Parallel()
	const lines = 5000
	rec := &recorder{}
	clock := newStillClock()
	o := testOptions(t)
	o.Logger, o.clock = slog.New(rec), clock
	p := startRole(t, "good", o)
	if _, err := p.CallTool(t.Context(), call("flood", textIn{N: lines}), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	all := rec.lines()
	// What go-plugin says of the process is there, too, with its levels.
	if s := strings.Join(all, "\n"); !strings.Contains(s, "DEBUG waiting for RPC address plugin_field=") || !strings.Contains(s, "INFO plugin process exited ") {
		t.Errorf("go-plugin says nothing: %q", s[:min(len(s), 1000)])
	}
	got := slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, "line") })
	if len(got) > logBurst+1 {
		t.Errorf("%d of %d lines came through, want at most %d", len(got), lines, logBurst+1)
	}
	wantParts(t, got[0], "line 0", "plugin=fix", "tool=flood", "call=c1")
	wantParts(t, got[len(got)-1], "WARN", "dropped", "lines=4500")
}

func TestLogRateRecovers(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	clock := newStillClock()
	l := newPluginLog(slog.New(rec), "fix", clock, nil)
	for range logBurst + 10 {
		l.Stderr([]byte("again"), false)
	}
	clock.advance(time.Second)
	for range logPerSecond + 10 {
		l.Stderr([]byte("again"), false)
	}
	// The burst, the note about what was dropped, and one second's worth.
	if got := len(rec.lines()); got != logBurst+1+logPerSecond {
		t.Errorf("%d lines", got)
	}
	wantParts(t, rec.lines()[logBurst], "dropped", "lines=10")
}

// manyFields are n fields in a group.
func manyFields(n int) string {
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`"f%03d":1`, i))
	}
	return `"g":{` + strings.Join(fields, ",") + `}`
}

// fewFields are the first of them, as they are shown.
func fewFields(n int) string {
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf("f%03d=1", i))
	}
	return "g=[" + strings.Join(fields, " ") + "]"
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	l := newPluginLog(slog.New(rec), "fix", newStillClock(), nil)
	for _, line := range []string{
		`{"@message":"m","@level":"warn","@timestamp":"x","n":1,"o":{"a":1,"b":{"c":[2]}},"e":{}}`,
		`{"@message":"d","@level":"debug-4"}`,
		`{"@message":"w","@level":"warn+1"}`,
		`{"@message":"many","@level":"trace",` + manyFields(1000) + `}`,
		`{"@message":5}`,
		`plain`,
		`   `,
		`panic: out of cheese`,
		`goroutine 1 [running]:`,
	} {
		l.Stderr([]byte(line), false)
	}
	l.Stderr([]byte("start of a long line"), true)
	want := []string{
		`WARN m e={} n=1 o=[a=1 b=[c=[2]]] plugin=fix`,
		`DEBUG d plugin=fix`,
		`WARN w plugin=fix`,
		`DEBUG-4 many ` + fewFields(maxLogFields-1) + ` plugin=fix`,
		`INFO {"@message":5} stream=stderr plugin=fix`,
		`INFO plain stream=stderr plugin=fix`,
		`ERROR panic: out of cheese stream=stderr plugin=fix`,
		`ERROR goroutine 1 [running]: stream=stderr plugin=fix`,
		`ERROR start of a long line… (cut) stream=stderr plugin=fix`,
	}
	if got := strings.Join(rec.lines(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if got := l.lastOutput(); got != "panic: out of cheese" {
		t.Errorf("last words: %q", got)
	}
}

func TestLastWordsOfNodeAreItsError(t *testing.T) {
	t.Parallel()
	l := newPluginLog(slog.New(&recorder{}), "fix", newStillClock(), nil)
	for _, line := range []string{
		"file:///srv/plugins.d/fix/fix.mjs:12", "    oops(", "    ^", "",
		"TypeError [ERR_INVALID_ARG_TYPE]: The path must be a string", "    at main (file:///srv/fix.mjs:12:3) {", "  code: 'ERR_INVALID_ARG_TYPE'", "}", "", "Node.js v20.20.2",
	} {
		l.Stderr([]byte(line), false)
	}
	if got, want := l.lastOutput(), "TypeError [ERR_INVALID_ARG_TYPE]: The path must be a string"; got != want {
		t.Errorf("last words: %q, want %q", got, want)
	}
}

func TestHostileLogLinesAreHarmless(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	o := testOptions(t)
	o.Logger = slog.New(rec)
	p := startRole(t, "raw hostile-log", o)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(rec.lines(), "\n")
	wantParts(t, all, `{"@message":5`, "INFO fine plugin_field=another plugin=fix", "(cut)")
	if len(all) > 3*childprocess.MaxLine {
		t.Errorf("%d bytes were logged", len(all))
	}
}

// TestWhatAPluginLogsIsShown logs in a process, with levels, fields and groups.
func TestWhatAPluginLogsIsShown(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	o := testOptions(t)
	o.Logger = slog.New(rec)
	p := startRole(t, "good", o)
	if _, err := p.CallTool(t.Context(), call("log", none{}), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(rec.lines(), "\n")
	wantParts(t, all,
		"DEBUG looking call=c1 n=1 tool=log plugin=fix",
		"INFO found call=c1 ok=true tool=log plugin=fix",
		"WARN slow call=c1 request=[method=GET took=1.5s] tool=log plugin=fix",
		"ERROR gone call=c1 error=no such thing tool=log plugin=fix",
		"INFO of the plugin itself plugin=fix")
}
