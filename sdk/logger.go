package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

func newHostHandler(w io.Writer) slog.Handler {
	return &hostHandler{newLibraryLogger(w, hclog.Trace), func(h slog.Handler) slog.Handler { return h }}
}

func newLibraryLogger(w io.Writer, level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: w, JSONFormat: true})
}

// hostHandler hands records to hclog. The fields take their form from slog.
type hostHandler struct {
	out  hclog.Logger
	with func(slog.Handler) slog.Handler // adds the attributes and groups of this logger
}

func (h *hostHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelDebug }

func (h *hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &hostHandler{h.out, func(to slog.Handler) slog.Handler { return h.with(to).WithAttrs(attrs) }}
}

func (h *hostHandler) WithGroup(name string) slog.Handler {
	return &hostHandler{h.out, func(to slog.Handler) slog.Handler { return h.with(to).WithGroup(name) }}
}

func (h *hostHandler) Handle(ctx context.Context, r slog.Record) error {
	var text bytes.Buffer
	var line struct{ Fields map[string]json.RawMessage }
	err := h.with(slog.NewJSONHandler(&text, nil).WithGroup("fields")).Handle(ctx, r)
	if err = errors.Join(err, json.Unmarshal(text.Bytes(), &line)); err != nil {
		return err
	}
	args := make([]any, 0, 2*len(line.Fields))
	for _, key := range slices.Sorted(maps.Keys(line.Fields)) {
		args = append(args, key, line.Fields[key])
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
