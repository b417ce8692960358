package devloop

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/internal/terminal"
)

// Levels are those from which on a [Logger] prints.
type Levels struct {
	Host   slog.Level // of what the host says
	Plugin slog.Level // of what the plugin in development says
}

// Logger returns a logger for the author of the plugin in folder. What the plugin
// prints on its standard streams appears as it is, after the id. So does what it logs
// with a stack, such as a panic: the author's own frames, each in a line, and how many
// there are of others. Everything else is a line of slog's text form. Each is written
// to w in one call.
func Logger(w io.Writer, folder *pluginbuild.Folder, levels Levels) *slog.Logger {
	text := slog.NewTextHandler(w, &slog.HandlerOptions{Level: min(levels.Host, levels.Plugin)})
	return slog.New(&authorLog{Handler: text, w: w, id: folder.ID(), dir: folder.Dir, levels: levels})
}

// authorLog knows what the plugin says by the attribute that a plugin's logger has.
type authorLog struct {
	slog.Handler
	w      io.Writer
	id     string
	dir    string // of the author
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
	printed, stack, panicked, early := false, "", "", false
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case !h.own && a.Key == "field": // of a setting of the plugin that the host does not have yet
			early = slices.Contains([]string{"plugins.config." + h.id, "plugins.secrets." + h.id}, a.Value.String())
		case !h.own:
			return false
		case a.Key == "stream":
			printed = true
		case a.Key == "stack":
			stack = a.Value.String()
		case a.Key == "panic":
			panicked = ": " + a.Value.String()
		}
		return true
	})
	switch {
	case early:
		return nil
	case stack != "":
		return h.lines(append([]string{r.Message + panicked}, indent(foldedStack(stack, h.dir))...))
	case printed:
		return h.lines([]string{r.Message})
	}
	return h.Handler.Handle(ctx, r)
}

// lines prints what the plugin says, in one call.
func (h *authorLog) lines(lines []string) error {
	prefix := h.id + " | "
	_, err := io.WriteString(h.w, prefix+strings.ReplaceAll(terminal.Text(strings.Join(lines, "\n")), "\n", "\n"+prefix)+"\n")
	return err
}

func indent(lines []string) []string {
	for i, line := range lines {
		lines[i] = "    " + line
	}
	return lines
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
