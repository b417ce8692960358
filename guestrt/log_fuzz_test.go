package guestrt

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

// bounds is a log handler that checks what a worker may put into a log.
type bounds struct {
	t     *testing.T
	lines *int
}

func (b bounds) Enabled(context.Context, slog.Level) bool { return true }
func (b bounds) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b bounds) WithGroup(string) slog.Handler            { return b }

func (b bounds) Handle(_ context.Context, r slog.Record) error {
	*b.lines++
	r.Attrs(func(a slog.Attr) bool {
		if s := a.Value.String(); len(s) > maxLogLine || !utf8.ValidString(s) || strings.Contains(s, "\n") {
			b.t.Errorf("a line of %d bytes: %.100q", len(s), s)
		}
		return true
	})
	return nil
}

// FuzzWorkerLog feeds the reader of what a worker writes to its standard error.
func FuzzWorkerLog(f *testing.F) {
	f.Add([]byte("fatal error: stack overflow\n\ngoroutine 1 [running]:\n"), uint16(1))
	f.Add([]byte("\x1b[31m\xff\xfe\x00"), uint16(5000))
	f.Add([]byte("\n"), uint16(60000))
	f.Fuzz(func(t *testing.T, b []byte, times uint16) {
		if len(b)*int(times) > 1<<20 {
			times = uint16(1 << 20 / len(b))
		}
		lines := 0
		words := copyLog(bytes.NewReader(bytes.Repeat(b, int(times))), slog.New(bounds{t, &lines}), func() {})
		if lines > maxLogLines || len(words) > maxLastOutput+maxLogLine || len(firstLine(words)) > 400 {
			t.Errorf("%d lines, %d bytes of last words", lines, len(words))
		}
		outOfMemory(words)
	})
}

// TestTheLastWordsAreThoseOfTheDeath: whatever a worker had said before.
func TestTheLastWordsAreThoseOfTheDeath(t *testing.T) {
	chatter := strings.Repeat("something else\n", 150)
	for _, fatal := range []string{
		"fatal error: runtime: cannot allocate memory\n", "runtime: out of memory: cannot allocate 4194304-byte block\nfatal error: out of memory\n",
		"runtime: goroutine stack exceeds 268435456-byte limit\nfatal error: stack overflow\n",
		"runtime: failed to create new OS thread (have 9 already; errno=11)\nfatal error: newosproc\n",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n",
	} {
		words := copyLog(strings.NewReader(strings.Repeat(chatter, 4)+fatal+"\ngoroutine 1:\n"+chatter), slog.New(slog.DiscardHandler), func() {})
		if !outOfMemory(words) {
			t.Errorf("%q is not found in %q", fatal, words)
		}
	}
}

// TestBlankLinesAreLines: a worker that writes nothing but line ends costs its host
// as much as one that says something.
func TestBlankLinesAreLines(t *testing.T) {
	flooded := 0
	copyLog(strings.NewReader(strings.Repeat("\n", tooManyLines+1)), slog.New(slog.DiscardHandler), func() { flooded++ })
	if flooded != 1 {
		t.Errorf("the flood was seen %d times", flooded)
	}
}
