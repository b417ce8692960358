package main

import (
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/debuglog"
)

// choice is a flag that takes one of a few words. "" means that it is not given.
type choice struct {
	value string
	words []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return usagef("expected one of %s", strings.Join(c.words, ", "))
	}
	c.value = s
	return nil
}

// bindChoice adds such a flag, with completion.
func bindChoice(cmd *cobra.Command, c *choice, name, usage string, words ...string) {
	c.words = words
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// complete registers what a flag of the command can be.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is not there, or has it already
	}
}

// bindLog adds the flags of the log.
func (o *options) bindLog(cmd *cobra.Command) {
	bindChoice(cmd, &o.logLevel, "log-level", "least level of the log's lines (default: log.level)",
		string(host.LogDebug), string(host.LogInfo), string(host.LogWarn), string(host.LogError))
	bindChoice(cmd, &o.logFormat, "log-format", "how a line of the log is written (default: log.format)",
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
