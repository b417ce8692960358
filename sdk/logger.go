package sdk

import (
	"io"
	"log/slog"
	"os"
	"strings"
)

// hostLogger returns a logger that writes one JSON object a line to the
// process's standard error, in the field names the host reads. It keeps the
// descriptor it started with: Serve points os.Stderr elsewhere.
func hostLogger() *slog.Logger { return slog.New(newHostHandler(os.Stderr)) }

func newHostHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.MessageKey:
				a.Key = "@message"
			case slog.LevelKey:
				level, _ := a.Value.Any().(slog.Level)
				return slog.String("@level", strings.ToLower(level.String()))
			case slog.TimeKey:
				return slog.String("@timestamp", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
			}
			return a
		},
	})
}
