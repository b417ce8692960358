package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// resultMark starts a line with the result of a job, readyMark the line that the
// machine says first.
const (
	resultMark = "quoin-result "
	readyMark  = "quoin-ready "
)

// result is what the machine says of a job when it has ended.
type result struct {
	Name    string
	Exit    int
	Seconds float64
	Says    string // of the job
}

// emulate runs the machine to its end and reports what its jobs say.
func emulate(ctx context.Context, d distribution, files string, t *transcript) error {
	cmd := d.command(ctx, "qemu-system-aarch64",
		"-L", filepath.Join(d.root, "usr", "share", "qemu"), "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
		"-machine", "virt", "-cpu", "neoverse-n1", "-smp", "2", "-m", "3072",
		"-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
		"-kernel", d.kernel, "-initrd", files, "-append", "console=ttyAMA0 rdinit=/init quiet panic=-1",
		"-serial", "stdio")
	cmd.Stderr = t.out
	console, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = t.follow(console)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("the machine ended with %w (%v)", err, context.Cause(ctx))
	}
	return nil
}

// emulateProcess runs a job in an emulated process of this machine, with addresses
// of as many bits as the job asks for. System calls go to this machine's kernel.
func emulateProcess(ctx context.Context, d distribution, b builder, j job, t *transcript) error {
	if err := b.compile(ctx, j, t); err != nil {
		return err
	}
	args := append([]string{"-R", fmt.Sprintf("%#x", uint64(1)<<j.Addresses), b.program()}, j.Args...)
	cmd := d.command(ctx, "qemu-aarch64", args...)
	cmd.Dir = j.Package
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	start := time.Now()
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return err
	}
	err = errors.Join(t.follow(r), r.Close())
	var exit *exec.ExitError
	if end := cmd.Wait(); !errors.As(end, &exit) {
		err = errors.Join(err, end)
	}
	t.end(result{Name: j.Name, Says: j.Says, Exit: cmd.ProcessState.ExitCode(), Seconds: time.Since(start).Seconds()})
	return err
}

// transcript is what the current job has said.
type transcript struct {
	start          time.Time
	out            io.Writer
	loud           bool // every line is shown at once
	lines          []string
	tests, skipped int // of the current job
	ended, passed  int // jobs
}

// follow reads the machine's console to its end.
func (t *transcript) follow(console io.Reader) error {
	lines := bufio.NewReader(console)
	for {
		line, err := lines.ReadString('\n')
		t.line(strings.TrimRight(line, "\r\n"))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *transcript) printf(format string, args ...any) {
	fmt.Fprintf(t.out, "test-arm64: "+format+"\n", args...)
}

// verdict fails unless all jobs passed.
func (t *transcript) verdict(jobs int) error {
	if t.ended < jobs {
		t.printf("a job did not end; the machine said:\n%s", strings.Join(t.lines, "\n"))
		return fmt.Errorf("%d of %d jobs ended", t.ended, jobs)
	}
	if t.passed < jobs {
		return fmt.Errorf("%d of %d jobs passed", t.passed, jobs)
	}
	return nil
}

func (t *transcript) line(line string) {
	if t.loud {
		fmt.Fprintln(t.out, line)
	}
	if said, ok := strings.CutPrefix(line, readyMark); ok {
		t.printf("%s (after %.0f s)", said, time.Since(t.start).Seconds())
		t.lines = nil
		return
	}
	if said, ok := strings.CutPrefix(line, resultMark); ok {
		var r result
		if err := json.Unmarshal([]byte(said), &r); err != nil {
			t.printf("the machine says %q: %v", said, err)
			return
		}
		t.end(r)
		return
	}
	switch {
	case strings.HasPrefix(line, "--- PASS"), strings.HasPrefix(line, "--- FAIL"):
		t.tests++
	case strings.HasPrefix(line, "--- SKIP"):
		t.skipped++
	}
	t.lines = append(t.lines, line)
}

// end reports a job: one line when it passed, and what it said when not.
func (t *transcript) end(r result) {
	verdict := "FAIL"
	t.ended++
	if r.Exit == 0 && t.said(r.Says) {
		verdict = "ok"
		t.passed++
	}
	if verdict != "ok" || t.tests == 0 {
		fmt.Fprintln(t.out, strings.Join(withoutNoise(t.lines), "\n"))
	}
	t.printf("%-4s %s: %d tests, %d skipped, %.0f s", verdict, r.Name, t.tests, t.skipped, r.Seconds)
	t.lines, t.tests, t.skipped = nil, 0, 0
}

// said reports whether a line of the current job starts so.
func (t *transcript) said(start string) bool {
	return slices.ContainsFunc(t.lines, func(l string) bool { return strings.HasPrefix(l, start) })
}

// withoutNoise leaves out what tests say that start, wait and pass.
func withoutNoise(lines []string) []string {
	var kept []string
	for _, l := range lines {
		first, _, _ := strings.Cut(strings.TrimSpace(l), ":")
		if !strings.HasPrefix(l, "=== ") && first != "--- PASS" {
			kept = append(kept, l)
		}
	}
	return kept
}
