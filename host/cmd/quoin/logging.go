package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/host/internal/debuglog"
)

// bindLog adds the flags of the log.
func (o *options) bindLog(cmd *cobra.Command) {
	cli.BindChoice(cmd, &o.logLevel, "log-level", "least level of the log's lines (default: log.level)",
		string(configfile.LogDebug), string(configfile.LogInfo), string(configfile.LogWarn), string(configfile.LogError))
	cli.BindChoice(cmd, &o.logFormat, "log-format", "how a line of the log is written (default: log.format)",
		string(configfile.LogText), string(configfile.LogJSON))
}

// logger writes what operators should know to stderr. Lines below the level
// otherwise are left out unless the configuration says another one.
func logger(f *configfile.File, stderr io.Writer, otherwise slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: logLevel(f, otherwise)}
	if f.Log.Format == configfile.LogJSON {
		return slog.New(slog.NewJSONHandler(stderr, o))
	}
	return slog.New(slog.NewTextHandler(stderr, o))
}

// logLevel is the level that the configuration gives, or otherwise. What QUOIN_DEBUG_*
// ask for is written at the level info.
func logLevel(f *configfile.File, otherwise slog.Level) slog.Level {
	if f.Given("log.level") {
		return map[configfile.LogLevel]slog.Level{
			configfile.LogDebug: slog.LevelDebug, configfile.LogInfo: slog.LevelInfo, configfile.LogWarn: slog.LevelWarn, configfile.LogError: slog.LevelError,
		}[f.Log.Level]
	}
	if debuglog.Wanted(os.Getenv) {
		return min(otherwise, slog.LevelInfo)
	}
	return otherwise
}
