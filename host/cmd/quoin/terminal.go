package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/terminal"
)

// presentation says how a result is printed: as one JSON document, unless a person
// reads it on a terminal or wants the value alone.
type presentation struct {
	json, quiet bool
}

func (p *presentation) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "print the whole result as JSON, as where standard output is no terminal")
	cmd.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "print the value alone: a text as it is, anything else as JSON")
	cmd.MarkFlagsMutuallyExclusive("json", "quiet")
}

// forPeople reports whether results go to a person.
func (p *presentation) forPeople(cmd *cobra.Command) bool {
	return !p.json && !p.quiet && isTerminal(cmd.OutOrStdout())
}

// print prints a result and turns its status into the exit code.
func (p *presentation) print(cmd *cobra.Command, res *host.Result) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	var err error
	switch {
	case p.quiet:
		err = printValue(stdout, stderr, res)
	case p.forPeople(cmd):
		err = printForPeople(stdout, stderr, res)
	default:
		err = printJSON(stdout, res)
	}
	if err != nil {
		return err
	}
	return exitOf(res)
}

// exitOf is the exit code of a result's status.
func exitOf(res *host.Result) error {
	switch res.Status {
	case host.StatusCompleted:
		return nil
	case host.StatusWaiting:
		return exitError{exitWaiting}
	default:
		return exitError{exitFailed}
	}
}

// printValue prints the value alone, and to stderr why there is none.
func printValue(stdout, stderr io.Writer, res *host.Result) error {
	if res.Status != host.StatusCompleted {
		_, err := terminal.Fprintln(stderr, outcome(res))
		return err
	}
	var text string
	if json.Unmarshal(res.Value, &text) == nil && !bytes.Equal(res.Value, []byte("null")) {
		if isTerminal(stdout) {
			text = terminal.Text(text)
		}
		_, err := fmt.Fprintln(stdout, text)
		return err
	}
	doc := []byte(res.Value)
	if isTerminal(stdout) {
		doc = terminal.JSON(doc)
	}
	_, err := fmt.Fprintf(stdout, "%s\n", doc)
	return err
}

// printForPeople prints what the program has emitted, then its value, and to stderr
// how it ended and a dim line of what it took.
func printForPeople(stdout, stderr io.Writer, res *host.Result) error {
	var b strings.Builder
	for _, o := range res.Output {
		var text string
		if text = o.Text(); text == "" {
			b.WriteString(jsonLines(o.Value))
			continue
		}
		b.WriteString(strings.TrimSuffix(terminal.Text(text), "\n") + "\n")
	}
	if res.Status == host.StatusCompleted && string(res.Value) != "null" {
		b.WriteString(jsonLines(res.Value))
	}
	if _, err := io.WriteString(stdout, b.String()); err != nil {
		return err
	}
	if res.Status != host.StatusCompleted {
		if _, err := terminal.Fprintln(stderr, outcome(res)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(stderr, dim(stderr, summary(res)))
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

// summary is what a run took, in one line.
func summary(res *host.Result) string {
	t := &res.Telemetry
	parts := []string{string(res.Status)}
	if res.Code != "" {
		parts = append(parts, string(res.Code))
	}
	parts = append(parts, millis(t.WallMillis))
	if n := t.CallCount + t.NamespaceCount; n > 0 {
		parts = append(parts, count(n, "call"))
	}
	if t.ApprovalCount > 0 {
		parts = append(parts, count(t.ApprovalCount, "approval"))
	}
	return strings.Join(append(parts, "guest "+millis(t.GuestCPUMillis), "isolation "+t.Isolation.Tier), " · ")
}

// millis is a time in milliseconds as people write it.
func millis(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// dim is a line in the background, where w is a terminal that may have colours.
func dim(w io.Writer, line string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return line
	}
	return "\x1b[2m" + line + "\x1b[0m"
}

// jsonLines is JSON on lines of its own, as a terminal may have it.
func jsonLines(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return terminal.Text(string(doc)) + "\n"
	}
	return string(terminal.JSON(b.Bytes())) + "\n"
}
