package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/childprocess"
)

// How many lines of a program's output reach the log: a burst, then a rate.
const (
	lineBurst     = 200
	linesPerSec   = 20
	maxLoggedLine = 2 << 10
	maxLastWords  = 400 // bytes
)

// lineLog hands lines of a program's output to the log, no faster than its rate.
type lineLog struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	throttle *childprocess.RateLimiter
	words    childprocess.OutputTail // of standard error
	noise    func(line string)       // told of lines of standard output that are no messages
}

// newLineLog makes a log for one program. The function noise may be nil.
func newLineLog(l *slog.Logger, now func() time.Time, noise func(line string)) *lineLog {
	return &lineLog{log: l, now: now, noise: noise, throttle: childprocess.NewRateLimiter(lineBurst, linesPerSec, now())}
}

// stderr takes a line of standard error, and keeps it to explain a crash.
func (l *lineLog) stderr(line []byte, _ bool) {
	text := strings.TrimRight(bounded(string(line), maxLoggedLine), " \t\r\n")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words.Add([]byte(text)) // with its indentation, which tells frames of a stack from errors
	l.print(strings.TrimSpace(text), "stderr")
}

// stdout takes a line of standard output that is no message.
func (l *lineLog) stdout(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(bounded(string(line), maxLoggedLine))
	if l.noise != nil && text != "" {
		l.noise(text)
	}
	l.print(text, "stdout")
}

// print logs a line if there is a token for it. The caller holds mu.
func (l *lineLog) print(text, stream string) {
	if !l.throttle.Allow(l.now()) {
		return
	}
	l.reportDropped()
	if text != "" {
		l.log.Log(context.Background(), slog.LevelInfo, text, "stream", stream)
	}
}

// reportDropped logs how many lines the rate has dropped since the last report.
// The caller holds mu.
func (l *lineLog) reportDropped() {
	if n := l.throttle.Dropped(); n > 0 {
		l.log.Warn("an MCP server logs too fast; lines were dropped", "lines", n)
	}
}

// finish says how many lines at the end were dropped.
func (l *lineLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reportDropped()
}

// lastWords are the lines of standard error that say most of how the program ended.
func (l *lineLog) lastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bounded(l.words.Last(), maxLastWords)
}

// noMessage returns the error about a line of a server's output that is no message.
func noMessage(line string) error {
	return fmt.Errorf("its standard output is not MCP: %q", bounded(line, 100))
}
