package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltest"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginlint"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
)

// cellTests are the flags of plugin test.
type cellTests struct {
	app.Flags
	only            string
	verbose, update bool
	check           bool
	timeout         time.Duration
}

func newTest() *cobra.Command {
	var t cellTests
	cmd := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Run a plugin's cells and compare what they return",
		Long: `Build the plugin in DIR and run the cells in testdata/*.ts and *.js against it,
each with a process of the plugin, a data directory and a host of its own. What a
cell should do stands in its file, mostly at the end:

  // want: {"items": [1, 2], "next": "…"}     what it returns
  // want-output: "a line of console.log"     one item of output, in order
  // want-error: guest_exception some text    it fails, with this code or reason

A panic is shown by the plugin's own lines, and a call that does not answer for 3 s by
where it stands. In the JSON, "…" stands for any value, and a member "…" for any further members.
With --check the TypeScript compiler holds the cells in *.ts and dev.ts against what
they can call. It is that of QUOIN_TSGO, else tsgo or tsc of node_modules or PATH; without
one it is built once, with the go command and the network.

A folder with Go files is built with go build, or with the command that dev.json5
in the folder names: { build: ["make", "weather"], config: {…}, secrets: {…} }. The
plugin is configured by plugins.config and plugins.secrets of --config, else by dev.json5.
Exit status: 0 all passed, 1 failed, 2 usage.`,
		Example: `  quoin plugin test
  quoin plugin test ./weather -v --run forecast
  quoin plugin test ./weather --check
  quoin plugin test ./weather --update`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return t.run(cmd, dirOf(args)) },
	}
	t.BindConfig(cmd)
	f := cmd.Flags()
	f.StringVar(&t.only, "run", "", "run only the cells whose file name matches this regular expression")
	f.BoolVarP(&t.verbose, "verbose", "v", false, "say of every cell how it went, and show its output")
	f.BoolVar(&t.check, "check", false, "have the TypeScript compiler check the cells, too")
	f.DurationVar(&t.timeout, "timeout", celltest.Patience, "how long a cell may wait for its tools")
	f.BoolVar(&t.update, "update", false, "write what the cells return into their files, where it differs")
	return cmd
}

// dirOf is the folder that is named, or the working directory.
func dirOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

func (t *cellTests) run(cmd *cobra.Command, dir string) (err error) {
	folder, err := pluginbuild.Open(dir)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(t.only)
	if err != nil {
		return cli.Usagef("--run: %v", err)
	}
	cells, err := celltest.Load(filepath.Join(dir, "testdata"), match)
	if err != nil {
		return err
	}
	start := time.Now()
	if len(cells) == 0 {
		return t.noCells(cmd.OutOrStdout(), folder.ID(), filepath.Join(dir, "testdata"))
	}
	f, err := t.Load()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "quoin-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	developed, err := folder.Build(cmd.Context(), tmp)
	if err != nil {
		return err
	}
	for _, p := range pluginlint.Version(folder.Manifest) {
		cmd.PrintErrln(terminal.Line(p.String()))
	}
	none := filepath.Join(tmp, "plugins")
	if err := os.Mkdir(none, 0o700); err != nil {
		return err
	}
	cfg := hostOf(&t.Flags, f, folder, none, cmd.ErrOrStderr())
	level := app.LogLevel(f, slog.LevelWarn)
	cfg.Logger = slog.New(withoutStarts{devloop.Logger(cmd.ErrOrStderr(), folder, devloop.Levels{Host: level, Plugin: level}).Handler()})
	if t.check {
		ok, err := checkTypes(cmd, folder, cells, cfg, developed)
		if err != nil {
			return err
		}
		if !ok {
			return cli.ExitError{Code: cli.ExitFailed}
		}
	}
	failed, err := t.cells(cmd.Context(), cmd.OutOrStdout(), cells, cfg, developed)
	if err != nil {
		return err
	}
	return sumUp(cmd.OutOrStdout(), folder.ID(), len(cells), failed, time.Since(start))
}

// noCells says that there is nothing to run, which is a failure if something was
// asked for by name.
func (t *cellTests) noCells(w io.Writer, id, dir string) error {
	which := ""
	if t.only != "" {
		which = fmt.Sprintf(" whose name matches %q", t.only)
	}
	if _, err := terminal.Fprintf(w, "?    %s  no cells in %s%s\n", id, dir, which); err != nil || t.only == "" {
		return err
	}
	return cli.ExitError{Code: cli.ExitFailed}
}

// hostOf configures a host for the plugins in dir, and for the one in development.
func hostOf(o *app.Flags, f *configfile.File, folder *pluginbuild.Folder, dir string, stderr io.Writer) host.Config {
	cfg := o.HostConfig(f, app.Logger(f, stderr, slog.LevelWarn))
	cfg.Plugins.Dir, cfg.Guests.Prepared = dir, 1
	cfg.Plugins.Config, cfg.Plugins.Secrets = inDevelopment(f, folder)
	if !f.Given("tools.codeMode.isolation") {
		cfg.Settings.Isolation = host.IsolationBestEffort // the cells are the author's own
	}
	return cfg
}

// withoutStarts is a log without the plugins that do not start: the command says so.
type withoutStarts struct{ slog.Handler }

func (h withoutStarts) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == plugins.LogStartFailed {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// cells runs all cells and says how many have failed.
func (t *cellTests) cells(ctx context.Context, w io.Writer, cells []*celltest.Cell, cfg host.Config, developed plugins.Candidate) (failed int, err error) {
	for _, c := range cells {
		o, err := c.Run(ctx, cfg, developed, t.timeout)
		if err != nil {
			return failed, err
		}
		if t.update {
			if err := o.Update(); err != nil {
				return failed, err
			}
		}
		if len(o.Problems) > 0 {
			failed++
		}
		if err := t.report(w, o); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// report prints what is to be known of one cell.
func (t *cellTests) report(w io.Writer, o *celltest.Outcome) error {
	var b strings.Builder
	word := "PASS"
	switch {
	case len(o.Problems) > 0:
		word = "FAIL"
	case o.Updated:
		word = "UPDATED"
	case !t.verbose:
		return nil
	}
	fmt.Fprintf(&b, "--- %s: %s (%s)\n", word, o.Cell.Name, celltest.Spent(o.Elapsed))
	for _, p := range o.Problems {
		at := o.Cell.Path
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		fmt.Fprintf(&b, "    %s: %s\n", filepath.ToSlash(at), p.Text)
		for _, d := range p.Details {
			fmt.Fprintf(&b, "        %s\n", strings.ReplaceAll(d, "\n", "\n        "))
		}
	}
	if t.verbose || len(o.Problems) > 0 {
		for _, item := range o.Result.Output {
			fmt.Fprintf(&b, "    output: %s\n", item.Value)
		}
	}
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

func sumUp(w io.Writer, id string, all, failed int, elapsed time.Duration) error {
	if failed == 0 {
		_, err := terminal.Fprintf(w, "ok   %s  %s  %s\n", id, output.Count(all, "cell"), celltest.Spent(elapsed))
		return err
	}
	if _, err := terminal.Fprintf(w, "FAIL %s  %d of %s failed  %s\n", id, failed, output.Count(all, "cell"), celltest.Spent(elapsed)); err != nil {
		return err
	}
	return cli.ExitError{Code: cli.ExitFailed}
}
