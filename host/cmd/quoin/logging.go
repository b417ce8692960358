package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/internal/debuglog"
)

// bindLog adds the flags of the log.
func (o *options) bindLog(cmd *cobra.Command) {
	cli.BindChoice(cmd, &o.logLevel, "log-level", "least level of the log's lines (default: log.level)",
		string(host.LogDebug), string(host.LogInfo), string(host.LogWarn), string(host.LogError))
	cli.BindChoice(cmd, &o.logFormat, "log-format", "how a line of the log is written (default: log.format)",
		string(host.LogText), string(host.LogJSON))
}

// logger writes what operators should know to stderr. Lines below the level
// otherwise are left out unless the configuration says another one.
func logger(f *host.File, stderr io.Writer, otherwise slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: logLevel(f, otherwise)}
	if f.Log.Format == host.LogJSON {
		return slog.New(slog.NewJSONHandler(stderr, o))
	}
	return slog.New(slog.NewTextHandler(stderr, o))
}

// logLevel is the level that the configuration gives, or otherwise. What QUOIN_DEBUG_*
// ask for is written at the level info.
func logLevel(f *host.File, otherwise slog.Level) slog.Level {
	if f.Given("log.level") {
		return map[host.LogLevel]slog.Level{
			host.LogDebug: slog.LevelDebug, host.LogInfo: slog.LevelInfo, host.LogWarn: slog.LevelWarn, host.LogError: slog.LevelError,
		}[f.Log.Level]
	}
	if debuglog.Wanted(os.Getenv) {
		return min(otherwise, slog.LevelInfo)
	}
	return otherwise
}
