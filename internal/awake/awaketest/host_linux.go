package awaketest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Ask is the end of a process that Answer has started, once it has started another one. The
// other is asked what the line says, and has two seconds.
func Ask(other int, ask func(line string) string, end func() error) {
	fmt.Println(other)
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	Beat()
	fmt.Println(ask(in.Text()))
	fmt.Println("ended", end())
	os.Exit(0)
}

// Answer runs a process that ends with Ask, stops it for longer than the other process has,
// and returns what it says of the answer. That comes when the process has been running
// again for a while.
func Answer(t testing.TB, cmd *exec.Cmd, line string) string {
	t.Helper()
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(stdout)
	next := func() string { out.Scan(); return out.Text() }
	other, err := strconv.Atoi(next())
	if err != nil {
		t.Fatalf("the process says %q: %v", out.Text(), err)
	}
	Stop(t, other) // so that its answer is not there before the pause
	if _, err := io.WriteString(stdin, line+"\n"); err != nil {
		t.Fatal(err)
	}
	Runs(t, next)
	Pause(t, cmd.Process.Pid, 3*time.Second)
	Runs(t, next)
	Continue(t, other)
	said := Next(next)
	if got := Next(next); got != "ended <nil>" {
		t.Errorf("the process says %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return said
}
