package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/debuglog"
)

// Load reads the configuration that flags, environment and file amount to.
func (o *Flags) Load() (*configfile.File, error) {
	set := slices.Clone(o.Set)
	for _, flag := range []struct{ field, value string }{{"guest.engine", o.engine.Value}, {"log.level", o.logLevel.Value}, {"log.format", o.logFormat.Value}} {
		if flag.value != "" {
			set = append(set, flag.field+"="+flag.value)
		}
	}
	path, err := paths.Config(o.Config)
	if err != nil {
		return nil, cli.AsInput(err, codemode.ReasonInvalidConfig)
	}
	f, err := configfile.Load(configfile.Sources{Path: path, Environ: os.Environ(), Set: set})
	var wrong *configfile.Error
	if err != nil && !errors.As(err, &wrong) {
		return nil, cli.AsInput(err, codemode.ReasonInvalidConfig)
	}
	return f, err
}

// HostConfig is what the file says of a host. A file that the command line does not
// name sets limits, and does not keep the command from running cells unless it says so.
func (o *Flags) HostConfig(f *configfile.File, log *slog.Logger) host.Config {
	cfg := f.Config()
	cfg.Logger = log
	for _, w := range f.Report.Warnings {
		log.Warn("configuration: " + w.String())
	}
	if (o.Config == "" || o.Config == paths.None) && !f.Given("tools.codeMode.enabled") {
		cfg.Settings.Disabled = false
	}
	return cfg
}

// PluginDir returns the plugin directory in force, or "".
func (o *Flags) PluginDir(f *configfile.File) (string, error) {
	dir, err := paths.Plugins(o.Plugins, f.PluginDir)
	if err != nil {
		return "", cli.AsInput(err, codemode.ReasonInvalidConfig)
	}
	return dir, nil
}

// Logger writes what operators should know to stderr. Lines below the level
// otherwise are left out unless the configuration says another one.
func Logger(f *configfile.File, stderr io.Writer, otherwise slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: LogLevel(f, otherwise)}
	if f.Log.Format == configfile.LogJSON {
		return slog.New(slog.NewJSONHandler(stderr, o))
	}
	return slog.New(slog.NewTextHandler(stderr, o))
}

// LogLevel is the level that the configuration gives, or otherwise. What QUOIN_DEBUG_*
// ask for is written at the level info.
func LogLevel(f *configfile.File, otherwise slog.Level) slog.Level {
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
