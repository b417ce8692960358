package sdk

import (
	"context"
	"encoding"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// hostLogger returns a logger that writes to the process's standard error what go-plugin
// reads there: lines in the JSON form of hclog. It keeps the descriptor it started with:
// Serve points os.Stderr elsewhere.
func hostLogger() *slog.Logger { return slog.New(newHostHandler(os.Stderr)) }

func newHostHandler(w io.Writer) slog.Handler { return &hostHandler{out: newLibraryLogger(w, hclog.Trace)} }

func newLibraryLogger(w io.Writer, level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: w, JSONFormat: true})
}

// hostHandler hands records to hclog.
type hostHandler struct {
	out   hclog.Logger
	steps []logStep
}

// logStep is one call of WithGroup or of WithAttrs.
type logStep struct {
	group string
	attrs []slog.Attr
}

func (h *hostHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelDebug }

func (h *hostHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(logStep{group: name})
}

func (h *hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.with(logStep{attrs: attrs}) }

func (h *hostHandler) with(s logStep) slog.Handler {
	return &hostHandler{h.out, append(slices.Clip(h.steps), s)}
}

func (h *hostHandler) Handle(_ context.Context, r slog.Record) error {
	fields := map[string]any{}
	within := fields
	for _, s := range h.steps {
		if s.group != "" {
			within = groupIn(within, s.group)
		}
		putFields(within, s.attrs)
	}
	r.Attrs(func(a slog.Attr) bool {
		putFields(within, []slog.Attr{a})
		return true
	})
	args := make([]any, 0, 2*len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		args = append(args, key, fields[key])
	}
	h.out.Log(libraryLevel(r.Level), r.Message, args...)
	return nil
}

func libraryLevel(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		return hclog.Error
	case l >= slog.LevelWarn:
		return hclog.Warn
	case l >= slog.LevelInfo:
		return hclog.Info
	}
	return hclog.Debug
}

// groupIn returns the fields of a group.
func groupIn(fields map[string]any, name string) map[string]any {
	group, ok := fields[name].(map[string]any)
	if !ok {
		group = map[string]any{}
		fields[name] = group
	}
	return group
}

// putFields adds attributes in the form that hclog writes: groups are objects, and errors
// in them are texts, as they are at the top.
func putFields(fields map[string]any, attrs []slog.Attr) {
	for _, a := range attrs {
		v := a.Value.Resolve()
		switch {
		case v.Kind() == slog.KindGroup && a.Key == "":
			putFields(fields, v.Group())
		case v.Kind() == slog.KindGroup && len(v.Group()) > 0:
			putFields(groupIn(fields, a.Key), v.Group())
		case a.Key != "" && v.Kind() != slog.KindGroup:
			fields[a.Key] = written(v.Any())
		}
	}
}

// written is a value as hclog writes it.
func written(v any) any {
	err, ok := v.(error)
	if !ok {
		return v
	}
	switch v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return v
	}
	return err.Error()
}
