package devloop

import (
	"context"
	"io"
	"log/slog"
	"slices"
)

// Levels are those from which on a [Logger] prints.
type Levels struct {
	Host   slog.Level // of what the host says
	Plugin slog.Level // of what the plugin in development says
}

// Logger returns a logger for the author of the plugin with the given id. What the
// plugin prints on its standard streams appears as it is, after the id; everything
// else is a line of slog's text form. Each is written to w in one call.
func Logger(w io.Writer, id string, levels Levels) *slog.Logger {
	text := slog.NewTextHandler(w, &slog.HandlerOptions{Level: min(levels.Host, levels.Plugin)})
	return slog.New(&authorLog{Handler: text, w: w, id: id, levels: levels})
}

// authorLog knows what the plugin says by the attribute that a plugin's logger has.
type authorLog struct {
	slog.Handler
	w      io.Writer
	id     string
	levels Levels
	own    bool // it is the plugin's
}

func (h *authorLog) Enabled(_ context.Context, level slog.Level) bool {
	if h.own {
		return level >= h.levels.Plugin
	}
	return level >= h.levels.Host
}

func (h *authorLog) Handle(ctx context.Context, r slog.Record) error {
	printed := false
	r.Attrs(func(a slog.Attr) bool {
		printed = h.own && a.Key == "stream"
		return !printed
	})
	if !printed {
		return h.Handler.Handle(ctx, r)
	}
	_, err := io.WriteString(h.w, h.id+" | "+r.Message+"\n")
	return err
}

func (h *authorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithAttrs(attrs)
	next.own = h.own || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Equal(slog.String("plugin", h.id)) })
	return &next
}

func (h *authorLog) WithGroup(name string) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithGroup(name)
	return &next
}
