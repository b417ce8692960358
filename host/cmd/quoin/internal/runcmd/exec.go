// Package runcmd has the commands about runs: exec and wait run programs; runs, trajectory, undo and
// programs look at them and use them again.
package runcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/terminal"
)

// maxSource bounds a program read from a file or standard input, in bytes.
const maxSource = 4 << 20

func NewExec() *cobra.Command {
	var o app.Flags
	var code, lang string
	var limits times
	cmd := &cobra.Command{
		Use:   "exec [FILE|-]",
		Short: "Run a cell and print its result",
		Long: `Run a JavaScript or TypeScript program and print one JSON Result. On a terminal, print
its output and its value, and to standard error the calls it makes while it runs and
what it took; --json prints the whole Result there, too, and -q the value alone.
What a call waits for is asked there, too: allow it, deny it, edit it, or leave it.

The program is the body of an async function: await and return work at its top
level. It is read from FILE, from standard input with -, or given with -e.
The guest is isolated as far as this system allows; telemetry.isolation in the
result says how far. With tools.codeMode.isolation: "required" in the
configuration file, too little is refused; quoin doctor says what there is.
Exit status: 0 completed, 1 failed, 2 usage, 3 waiting (go on with quoin wait).`,
		Example: `  quoin exec -e 'return 6 * 7'
  quoin exec report.ts
  echo 'return await Issues.list({state: "open"})' | quoin exec -
  quoin exec -e 'await yield_control(); return 42' --state ./state
  quoin exec -e 'return 6 * 7' --server http://127.0.0.1:8787`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := readProgram(cmd, args, code, lang)
			if err != nil {
				return printNotStarted(&o, cmd, err)
			}
			if err := limits.into(cmd, &in); err != nil {
				return err
			}
			o.Show.Program = in.Code
			return runCell(&o, cmd, func(ctx context.Context, b app.Backend, s host.Session) (*host.Result, error) {
				return b.Exec(ctx, s, in)
			})
		},
	}
	o.Bind(cmd, true)
	o.Show.Bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFiles("js", "mjs", "cjs", "ts", "mts", "cts")
	o.BindCaller(cmd)
	cmd.Flags().StringVarP(&code, "eval", "e", "", "the program itself")
	cmd.Flags().StringVar(&lang, "lang", "", "js or ts (default: from the file name, else js)")
	cli.CompleteFlag(cmd, "lang", cobra.FixedCompletions([]cobra.Completion{"js", "ts"}, cli.NoFiles))
	limits.bind(cmd)
	return cmd
}

func NewWait() *cobra.Command {
	var o app.Flags
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "wait RUN_ID",
		Short: "Go on with a suspended cell",
		Long: `Go on with a cell whose result was waiting, in this or another process, or with
the newest one of the session, which is called last, and
print one JSON Result, or on a terminal what it has to say, as exec does. The state
directory, the plugins, the configuration and the session must be those of exec, which
prints the whole command. A run that finds less than it was suspended with is refused
and kept.
Exit status: 0 completed, 1 failed, 2 usage, 3 still waiting.`,
		Example: `  quoin wait run_0123456789abcdef0123456789abcdef --state ./state
  quoin wait run_0123456789abcdef0123456789abcdef --server http://127.0.0.1:8787`,
		Args: cli.OneArg("RUN_ID", "the runId of a result whose status is waiting"),
		RunE: func(cmd *cobra.Command, args []string) error {
			wait, err := givenTime(cmd, "wait", wait)
			if err != nil {
				return err
			}
			return runCell(&o, cmd, func(ctx context.Context, b app.Backend, s host.Session) (*host.Result, error) {
				id, err := runNamed(ctx, b, s, args[0])
				if err != nil {
					return failedStart(err), nil
				}
				return b.WaitFor(ctx, s, id, wait)
			})
		},
	}
	o.Bind(cmd, true)
	o.Show.Bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(runs(&o, true))
	o.BindCaller(cmd)
	bindWait(cmd, &wait)
	return cmd
}

// runNamed returns the id of a run: the newest of the session if its name is last.
func runNamed(ctx context.Context, b app.Backend, s host.Session, name string) (string, error) {
	if name != newestRun {
		return name, nil
	}
	list, err := b.Runs(ctx, s)
	if err == nil && len(list) == 0 {
		err = cli.AsInput(errors.New("no run of the session is suspended: quoin runs list shows the runs of all sessions"), codemode.ReasonRunUnavailable)
	}
	if err != nil {
		return "", err
	}
	return list[len(list)-1].ID, nil
}

// readProgram finds the program and its language on the command line.
func readProgram(cmd *cobra.Command, args []string, code, lang string) (host.ExecInput, error) {
	given := cmd.Flags().Changed("eval")
	var name string
	switch {
	case given && len(args) > 0:
		return host.ExecInput{}, cli.Usagef("both -e and a file are given: choose one")
	case !given && len(args) == 0:
		if !isPiped(cmd.InOrStdin()) {
			return host.ExecInput{}, errNoProgram
		}
		name = "-"
	case len(args) > 0:
		name = args[0]
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, " ;(") {
		return host.ExecInput{}, cli.Usagef("%q is no file: a program itself is given with -e", terminal.Short(name))
	}
	language, err := languageOf(lang, name)
	if err != nil {
		return host.ExecInput{}, err
	}
	if name != "" {
		b, err := readSource(cmd, name)
		if err != nil {
			return host.ExecInput{}, err
		}
		if code = string(b); len(args) == 0 && strings.TrimSpace(code) == "" {
			return host.ExecInput{}, errNoProgram
		}
	}
	return host.ExecInput{Code: code, Language: language}, nil
}

var errNoProgram = cli.Usagef("no program: give FILE, - for standard input, or -e CODE")

// isPiped reports whether standard input comes from another program or a file.
func isPiped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && (st.Mode().IsRegular() || st.Mode()&os.ModeNamedPipe != 0)
}

func readSource(cmd *cobra.Command, name string) ([]byte, error) {
	src := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.AsInput(err, "")
		}
		defer f.Close()
		src = f
	}
	b, err := io.ReadAll(io.LimitReader(src, maxSource+1))
	if err != nil {
		return nil, cli.AsInput(err, "")
	}
	if len(b) > maxSource {
		return nil, cli.AsInput(fmt.Errorf("%s is longer than the %d bytes a program may have", name, maxSource), "")
	}
	return b, nil
}

func languageOf(lang, file string) (string, error) {
	if lang == "" {
		ext := filepath.Ext(file)
		switch strings.ToLower(ext) {
		case ".ts", ".mts", ".cts", ".tsx":
			lang = "ts"
		case ".js", ".mjs", ".cjs", ".jsx", "", ".txt":
			lang = "js"
		default:
			return "", cli.Usagef("%s ends in %s, and cells are JavaScript or TypeScript (.js, .mjs, .cjs, .ts, .mts, .cts); if it is one of them, say so with --lang js or --lang ts", file, ext)
		}
	}
	switch lang {
	case "js", "javascript":
		return "javascript", nil
	case "ts", "typescript":
		return "typescript", nil
	}
	return "", cli.Usagef("--lang is %q, expected js or ts", lang)
}
