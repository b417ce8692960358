package debuglog

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/redact"
)

// The environment variables.
const (
	EnvCodeMode = "QUOIN_DEBUG_CODE_MODE"
	EnvPayload  = "QUOIN_DEBUG_MODEL_PAYLOAD"
	EnvSSE      = "QUOIN_DEBUG_SSE"
	// EnvTransport is a variable of other hosts, which have a transport to models.
	EnvTransport = "QUOIN_DEBUG_MODEL_TRANSPORT"
)

// The values they take.
const (
	on           = "1"
	payloadTools = "tools"
	payloadFull  = "full-redacted"
	sseEvents    = "events"
	ssePeek      = "peek"
)

const (
	maxPayload = 64 << 10 // bytes of a payload that are logged
	maxEvent   = 2 << 10  // bytes of an event that are logged
	maxNames   = 200      // tools that are logged by name
	maxName    = 256      // bytes of a name
)

// Log writes debug lines at the level info.
type Log struct {
	log      *slog.Logger
	codeMode bool
	payload  string
	sse      string
}

// New reads the environment variables through getenv, as os.Getenv does, and
// warns of values it does not know. It returns nil when nothing is asked for.
func New(getenv func(string) string, log *slog.Logger) *Log {
	l := &Log{
		log:      log,
		codeMode: choose(getenv, log, EnvCodeMode, on) == on,
		payload:  choose(getenv, log, EnvPayload, payloadTools, payloadFull),
		sse:      choose(getenv, log, EnvSSE, sseEvents, ssePeek),
	}
	if getenv(EnvTransport) != "" {
		log.Warn(EnvTransport + " is ignored: there is no transport to models here; " + EnvPayload + " and " + EnvSSE + " log what passes through")
	}
	if !l.codeMode && l.payload == "" && l.sse == "" {
		return nil
	}
	return l
}

// Wanted reports whether any of the variables is set to something.
func Wanted(getenv func(string) string) bool {
	return getenv(EnvCodeMode) != "" || getenv(EnvPayload) != "" || getenv(EnvSSE) != "" || getenv(EnvTransport) != ""
}

func choose(getenv func(string) string, log *slog.Logger, name string, accepted ...string) string {
	v := getenv(name)
	if v == "" || v == "0" || slices.Contains(accepted, v) {
		return strings.TrimPrefix(v, "0")
	}
	log.Warn(fmt.Sprintf("%s is %q, expected %s, or nothing; it is ignored", name, clip(v), strings.Join(accepted, " or ")))
	return ""
}

// CodeMode reports whether decisions about runs are logged, for callers to whom
// it costs something to describe one.
func (l *Log) CodeMode() bool { return l != nil && l.codeMode }

// Decision logs a decision about a run, with pairs of key and value as slog takes
// them. Values must hold no inputs or outputs of tools.
func (l *Log) Decision(what string, args ...any) {
	if l.CodeMode() {
		l.log.Info("code mode: "+what, args...)
	}
}

// Payload logs what is about to be sent to a model: the names of its tools, and
// the body, a JSON document that may be nil, where that is asked for.
func (l *Log) Payload(tools []string, body []byte) {
	if l == nil || l.payload == "" {
		return
	}
	names := make([]string, 0, min(len(tools), maxNames))
	for _, n := range tools[:min(len(tools), maxNames)] {
		names = append(names, clip(n))
	}
	args := []any{"count", len(tools), "tools", names}
	if l.payload == payloadFull && body != nil {
		args = append(args, "bytes", len(body), "body", string(redact.Redactor{MaxBytes: maxPayload}.JSON(body, nil)))
	}
	l.log.Info("model payload", args...)
}

func clip(s string) string { return redact.Redactor{MaxBytes: maxName}.Text(s) }
