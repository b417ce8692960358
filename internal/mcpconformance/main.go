// Command mcpconformance runs the official MCP conformance suite against Quoin, for
// make mcp-conformance. It installs the suite, and a Node that can run it, into a
// directory of its own, which needs npm and its registry.
//
// A leg is one run of the suite: a side and a revision of the specification, with the
// scenarios that this revision requires. All of them have to pass. Scenarios that the
// suite does not score run too; those that fail are listed with a reason in
// expected-failures.yml, and an entry that passes fails the leg.
//
// main.go runs the legs, install.go installs the suite, summary.go reads what it says.
// Directory server is what the server legs ask, directory client is a program that the
// client legs start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/internal/mcpconformance/server"
)

// legBound is how long one leg may take.
const legBound = 5 * time.Minute

// leg is one run of the suite.
type leg struct {
	side, revision string
	scored         int // scenarios that the revision requires of the side
}

// legs are all runs. The counts are the suite's own, so that a leg that lost scenarios
// does not pass.
var legs = []leg{
	{"server", "2026-07-28", 37},
	{"server", "2025-11-25", 30},
	{"client", "2026-07-28", 32},
	{"client", "2025-11-25", 18},
}

func main() {
	only := flag.String("only", "", "run the legs of one side")
	scenario := flag.String("scenario", "", "run one scenario, with all that the suite says of it")
	expected := flag.String("expected-failures", filepath.Join("internal", "mcpconformance", "expected-failures.yml"), "file of the failures that are expected")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *scenario, *expected, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-conformance:", err)
		os.Exit(1)
	}
}

// run installs the suite and runs the legs of a side, or of both.
func run(ctx context.Context, only, scenario, expected string, out io.Writer) error {
	expected, err := filepath.Abs(expected)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	suite, err := install(ctx, dir, out)
	if err != nil {
		return err
	}
	var failed []error
	passed, scored := map[string]int{}, map[string]int{}
	for _, l := range legs {
		if only != "" && only != l.side {
			continue
		}
		s, err := l.run(ctx, suite, scenario, expected, out)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s %s: %w", l.side, l.revision, err))
		}
		passed[l.side] += s.passed
		scored[l.side] += l.scored
	}
	for _, side := range []string{"server", "client"} {
		if scored[side] > 0 && scenario == "" {
			fmt.Fprintf(out, "mcp-conformance: %s %d of %d\n", side, passed[side], scored[side])
		}
	}
	return errors.Join(failed...)
}

// run runs one leg.
func (l leg) run(ctx context.Context, suite *suite, scenario, expected string, out io.Writer) (summary, error) {
	ctx, cancel := context.WithTimeout(ctx, legBound)
	defer cancel()
	required, err := suite.required(l.side, l.revision)
	if err != nil {
		return summary{}, err
	}
	args := []string{l.side, "--requirements", l.revision, "--expected-failures", expected}
	if scenario != "" {
		args = []string{l.side, "--spec-version", l.revision, "--scenario", scenario}
	}
	switch l.side {
	case "server":
		s, err := server.Start(ctx)
		if err != nil {
			return summary{}, err
		}
		text, err := suite.run(ctx, append(args, "--url", s.URL())...)
		if err := s.Close(); err != nil {
			return summary{}, err
		}
		return l.judge(text, err, required, scenario, out)
	case "client":
		command, err := suite.buildClient(ctx)
		if err != nil {
			return summary{}, err
		}
		text, err := suite.run(ctx, append(args, "--command", command)...)
		return l.judge(text, err, required, scenario, out)
	}
	return summary{}, fmt.Errorf("there is no side %q", l.side)
}

// judge holds what the suite said against what it must say.
func (l leg) judge(text string, err error, required map[string]bool, scenario string, out io.Writer) (summary, error) {
	s := parse(text, required)
	if scenario != "" {
		fmt.Fprintln(out, text)
		return s, err
	}
	fmt.Fprintf(out, "mcp-conformance: %s %s: %d of %d required, %d of %d others\n", l.side, l.revision, s.passed, l.scored, s.otherPassed, s.others)
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return s, err
	case err != nil:
		fmt.Fprintln(out, text)
		return s, errors.New("the suite failed; what it said stands above")
	case s.scored != l.scored || s.passed != l.scored:
		fmt.Fprintln(out, text)
		return s, fmt.Errorf("%d of %d required scenarios passed, expected %d; what the suite said stands above", s.passed, s.scored, l.scored)
	}
	return s, nil
}
