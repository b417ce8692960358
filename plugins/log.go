package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/text"
)

// How much of a plugin's log reaches the host's: a burst, then a steady rate.
const (
	logBurst     = 500
	logPerSecond = 100
)

// pluginLog takes the lines a plugin writes and hands them to a slog.Logger,
// no faster than the rate above. It is safe for concurrent use.
type pluginLog struct {
	logger *slog.Logger
	clock  clock
	secret *secretMask

	mu        sync.Mutex
	throttle  *childprocess.RateLimiter
	panicking bool // a Go panic has started: what follows explains it
	tail      childprocess.OutputTail
	printed   string // what was first printed in place of the handshake
}

func newPluginLog(l *slog.Logger, id string, c clock, secret *secretMask) *pluginLog {
	return &pluginLog{logger: l.With("plugin", id), clock: c, secret: secret, throttle: childprocess.NewRateLimiter(logBurst, logPerSecond, c.Now())}
}

// Stderr takes one line of standard error.
func (p *pluginLog) Stderr(line []byte, cut bool) {
	line = p.secret.line(line, cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail.Add(line)
	if !p.allow() {
		return
	}
	if r, ok := parseRecord(line); ok && !cut {
		p.logger.LogAttrs(context.Background(), r.level, r.message, r.attrs...)
		return
	}
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	level := slog.LevelInfo
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		p.panicking = true
	}
	if p.panicking {
		level = slog.LevelError
	}
	p.print(level, text, "stderr", cut)
}

// Stdout takes one line that was printed where only the handshake belongs.
func (p *pluginLog) Stdout(line []byte, cut bool) {
	line = p.secret.line(line, cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail.Add(line)
	if p.allow() {
		p.print(slog.LevelInfo, strings.ToValidUTF8(string(line), "\uFFFD"), "stdout", cut)
	}
}

func (p *pluginLog) print(level slog.Level, text, stream string, cut bool) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if cut {
		text += "… (cut)"
	}
	p.logger.Log(context.Background(), level, text, "stream", stream)
}

// allow takes a token. After a pause in which lines were dropped it says how
// many.
func (p *pluginLog) allow() bool {
	if !p.throttle.Allow(p.clock.Now()) {
		return false
	}
	p.reportDropped()
	return true
}

func (p *pluginLog) reportDropped() {
	if n := p.throttle.Dropped(); n > 0 {
		p.logger.Warn("the plugin logs too fast; lines were dropped", "lines", n)
	}
}

// End says how many lines at the end were dropped, and what could not be read.
func (p *pluginLog) End(err error) {
	if err != nil {
		p.logger.Warn("reading the plugin's output", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reportDropped()
}

// maxPrinted is how many bytes of unexpected output a message quotes.
const maxPrinted = 63

// Printed keeps what was printed first, to explain a handshake that does not come.
func (p *pluginLog) Printed(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.printed == "" {
		p.printed = text.Shorten(strings.ToValidUTF8(p.secret.text(words), "\uFFFD"), maxPrinted)
	}
}

// explainStdout quotes what was printed in place of the handshake; empty for nothing.
func (p *pluginLog) explainStdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.printed == "" {
		return ""
	}
	return fmt.Sprintf("; it printed %q on standard output, where the handshake belongs: print to standard error", p.printed)
}

// lastOutput is what the plugin said last: the panic or the uncaught error if there
// was one, the last line otherwise.
func (p *pluginLog) lastOutput() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tail.Last()
}

// record is one structured log line.
type record struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// parseRecord reads a line in the JSON form that hclog writes. The plugin
// may put anything there, so every field is checked for its type.
func parseRecord(line []byte) (record, bool) {
	if len(line) == 0 || line[0] != '{' {
		return record{}, false
	}
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return record{}, false
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return record{}, false
	}
	r := record{message: message, level: slog.LevelInfo}
	if word, ok := fields["@level"].(string); ok {
		r.level = levelOf(word)
	}
	own := make(map[string]any, len(fields))
	for k, v := range fields {
		if !strings.HasPrefix(k, "@") {
			own[notOfHost(k)] = v
		}
	}
	left := maxLogFields
	r.attrs = logFields(own, &left)
	return r, true
}

// notOfHost is the name of a field, but for those that the host alone writes: readers that
// take the last of two would take the other one.
func notOfHost(field string) string {
	switch field {
	case "plugin", slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		return field + "_field"
	}
	return field
}

// maxLogFields bounds the fields of one line, including the fields of groups.
const maxLogFields = 64

// logFields are the fields of an object in order of their names. Groups stay groups.
// What is beyond the bound is left out, and left says how much of it remains.
func logFields(fields map[string]any, left *int) []slog.Attr {
	var attrs []slog.Attr
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if *left == 0 {
			break
		}
		*left--
		group, ok := fields[k].(map[string]any)
		if !ok || len(group) == 0 {
			attrs = append(attrs, attr(k, fields[k]))
			continue
		}
		attrs = append(attrs, slog.GroupAttrs(k, logFields(group, left)...))
	}
	return attrs
}

func attr(key string, v any) slog.Attr {
	switch v := v.(type) {
	case string, float64, bool, nil:
		return slog.Any(key, v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return slog.String(key, fmt.Sprint(v))
	}
	return slog.String(key, string(b))
}

// levelOf reads a level of hclog. SDKs of earlier versions wrote levels of slog, such
// as warn+1.
func levelOf(word string) slog.Level {
	if end := strings.IndexAny(word, "+-"); end > 0 {
		word = word[:end]
	}
	if level, ok := levels[hclog.LevelFromString(word)]; ok {
		return level
	}
	return slog.LevelInfo
}

// levels maps the levels of hclog to ours.
var levels = map[hclog.Level]slog.Level{
	hclog.Trace: slog.LevelDebug - 4, hclog.Debug: slog.LevelDebug, hclog.Info: slog.LevelInfo,
	hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError,
}

// libraryLog takes what go-plugin says of a plugin's process. It is the host's, so its lines
// name the process, and not a plugin as what the plugin says does.
type libraryLog struct{ logger *slog.Logger }

// newLibraryLog returns a logger for go-plugin that hands everything to ours, with its level.
func newLibraryLog(l *slog.Logger) hclog.Logger {
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard})
	log.RegisterSink(libraryLog{l})
	return log
}

// Accept is called for each record.
func (l libraryLog) Accept(_ string, level hclog.Level, message string, args ...any) {
	for i := 0; i < len(args); i += 2 {
		if key, ok := args[i].(string); ok {
			args[i] = notOfHost(key)
		}
	}
	l.logger.Log(context.Background(), levels[level], message, args...)
}
