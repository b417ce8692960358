// Package output prints what the quoin command has to say. Where standard output is a
// terminal, a person reads it: results get a short form, the calls of a run are shown
// while it runs, and text of models, plugins and servers can do nothing to the
// terminal. Elsewhere a program reads it, and gets JSON.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/terminal"
)

// ResultPrinter prints results: as one JSON document, unless a person reads it on a
// terminal or wants the value alone.
type ResultPrinter struct {
	Program string     // what runs, if it is known
	json    cli.Choice // full or compact
	quiet   bool
}

// Bind adds its flags to a command.
func (p *ResultPrinter) Bind(cmd *cobra.Command) {
	cli.BindChoice(cmd, &p.json, "json", "print the whole result as JSON, as where standard output is no terminal, or with --json=compact what a model is shown of it", "full", "compact")
	cmd.Flags().Lookup("json").NoOptDefVal = "full"
	cmd.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "print the value alone: a text as it is, anything else as JSON")
	cmd.MarkFlagsMutuallyExclusive("json", "quiet")
}

// ForPeople reports whether results go to a person.
func (p *ResultPrinter) ForPeople(cmd *cobra.Command) bool {
	return p.json.Value == "" && !p.quiet && IsTerminal(cmd.OutOrStdout())
}

// Print prints a result and turns its status into the exit code.
func (p *ResultPrinter) Print(cmd *cobra.Command, res *host.Result) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	var err error
	switch {
	case p.quiet:
		err = printValue(stdout, stderr, res)
	case p.ForPeople(cmd):
		err = printForPeople(stdout, stderr, res, p.Program)
	case p.json.Value == "compact":
		var shown json.RawMessage
		if shown, err = modeltools.RenderResult(res, nil); err == nil {
			err = PrintJSON(stdout, shown)
		}
	default:
		err = PrintJSON(stdout, res)
	}
	if err != nil {
		return err
	}
	return exitOf(res)
}

// exitOf returns the exit code of a result's status.
func exitOf(res *host.Result) error {
	switch res.Status {
	case host.StatusCompleted:
		return nil
	case host.StatusWaiting:
		return cli.ExitError{Code: cli.ExitWaiting}
	default:
		return cli.ExitError{Code: cli.ExitFailed}
	}
}

// printValue prints the value alone, or to stderr why the result has no value.
func printValue(stdout, stderr io.Writer, res *host.Result) error {
	if res.Status != host.StatusCompleted {
		_, err := terminal.Fprintln(stderr, outcome(res))
		return err
	}
	var text string
	if json.Unmarshal(res.Value, &text) == nil && !bytes.Equal(res.Value, []byte("null")) {
		if IsTerminal(stdout) {
			text = terminal.Text(text)
		}
		_, err := fmt.Fprintln(stdout, text)
		return err
	}
	doc := []byte(res.Value)
	if IsTerminal(stdout) {
		doc = terminal.JSON(doc)
	}
	_, err := fmt.Fprintf(stdout, "%s\n", doc)
	return err
}

// printForPeople prints what the program has emitted, then its value, and to stderr
// how it ended, where it failed, and a dim line of what it took.
func printForPeople(stdout, stderr io.Writer, res *host.Result, program string) error {
	err := PrintOutput(stdout, res)
	if err == nil && res.Status == host.StatusCompleted && string(res.Value) != "null" {
		_, err = io.WriteString(stdout, jsonLines(res.Value))
	}
	if err != nil {
		return err
	}
	if res.Status != host.StatusCompleted {
		if _, err := terminal.Fprintln(stderr, outcome(res)+excerpt(program, res.Error)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(stderr, dim(stderr, summary(res)))
	return err
}

// PrintOutput prints what a program has emitted, for people.
func PrintOutput(w io.Writer, res *host.Result) error {
	var b strings.Builder
	for _, o := range res.Output {
		var text string
		if text = o.Text(); text == "" {
			b.WriteString(jsonLines(o.Value))
			continue
		}
		b.WriteString(strings.TrimSuffix(terminal.Text(text), "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// outcome says why a result has no value.
func outcome(res *host.Result) string {
	if res.Status == host.StatusFailed {
		return "quoin: failed: " + terminal.Text(res.Error)
	}
	s := fmt.Sprintf("quoin: waiting: %s, as %s", res.Reason, res.RunID)
	for _, c := range res.PendingToolCalls {
		s += strings.TrimRight(fmt.Sprintf("\n  %s %s", c.ID, terminal.Short(c.Tool)), " ")
	}
	return s
}

// place matches where an error lies in a program.
var place = regexp.MustCompile(`cell\.[jt]s:(\d+):(\d+)`)

// excerpt shows the line of a program that an error names, and a caret below its column;
// of a long line it shows the part around that.
func excerpt(program, failure string) string {
	m := place.FindStringSubmatch(failure)
	if m == nil {
		return ""
	}
	line, _ := strconv.Atoi(m[1]) // what is too large is out of range
	col, _ := strconv.Atoi(m[2])
	lines := strings.Split(program, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	r := []rune(strings.NewReplacer("\t", " ", "\r", "").Replace(lines[line-1]))
	if col < 1 || col > len(r)+1 {
		return ""
	}
	before := terminal.Line(string(r[max(col-40, 0) : col-1]))
	after := terminal.Line(string(r[col-1 : min(col+15, len(r))]))
	return "\n  " + before + after + "\n  " + strings.Repeat(" ", len([]rune(before))) + "^"
}

// summary says in one line what a run took.
func summary(res *host.Result) string {
	t := &res.Telemetry
	parts := []string{string(res.Status)}
	if res.Code != "" {
		parts = append(parts, string(res.Code))
	}
	parts = append(parts, millis(t.WallMillis))
	if n := t.CallCount + t.NamespaceCount; n > 0 {
		parts = append(parts, Count(n, "call"))
	}
	if t.ApprovalCount > 0 {
		parts = append(parts, Count(t.ApprovalCount, "approval"))
	}
	if t.Engine.Name == string(host.EngineNative) {
		parts = append(parts, "native engine")
	}
	return strings.Join(append(parts, "guest "+millis(t.GuestCPUMillis), "isolation "+t.Isolation.Tier), " · ")
}
