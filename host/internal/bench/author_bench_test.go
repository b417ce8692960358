package bench_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkAuthor is the stopwatch next to the author of a plugin: from nothing to
// the first answer of a namespace that was not there before, and from a save to
// the answer of the plugin that was saved, with everything between: the compiler,
// the swap, the look at what a model sees, and the scratch cell. The commands are
// those that make build has made. Compiling what all plugins share is not part of
// it, unless nothing has ever been compiled.
func BenchmarkAuthor(b *testing.B) {
	quoin, err := filepath.Abs("../../../bin/quoin")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(quoin); err != nil {
		b.Fatalf("%v: run make build first", err)
	}
	b.Run("new to live", func(b *testing.B) {
		s := newSamples(row{name: "quoin plugin new, plugin dev, first call", goal: "<= 5 min"})
		for b.Loop() {
			dir := filepath.Join(b.TempDir(), "weather")
			begun := time.Now()
			scaffold(b, quoin, dir)
			a := develop(b, quoin, dir)
			a.await(b, `{"text":"Hello, world!","language":"en"}`)
			s.d = append(s.d, time.Since(begun))
			a.end(b)
		}
		s.report(b)
	})
	b.Run("save to live", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "weather")
		scaffold(b, quoin, dir)
		source := filepath.Join(dir, "main.go")
		text, err := os.ReadFile(source)
		if err != nil {
			b.Fatal(err)
		}
		a := develop(b, quoin, dir)
		a.await(b, `"Hello, world!"`)
		s := newSamples(row{name: "a save, built, in service, called", goal: "none"})
		for b.Loop() {
			word := "Hello" + strings.Repeat("o", len(s.d)+1)
			begun := time.Now()
			if err := os.WriteFile(source, []byte(strings.Replace(string(text), `"Hello"`, `"`+word+`"`, 1)), 0o644); err != nil {
				b.Fatal(err)
			}
			a.await(b, `"`+word+`, world!"`)
			s.d = append(s.d, time.Since(begun))
		}
		s.report(b)
		a.end(b)
	})
}

func scaffold(b *testing.B, quoin, dir string) {
	b.Helper()
	if out, err := exec.Command(quoin, "plugin", "new", "weather", "--dir", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// author is a quoin plugin dev.
type author struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func develop(b *testing.B, quoin, dir string) *author {
	b.Helper()
	a := &author{cmd: exec.Command(quoin, "plugin", "dev", dir)}
	a.cmd.Stderr = os.Stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	a.lines = bufio.NewScanner(out)
	return a
}

// await reads what is printed up to a line with a text.
func (a *author) await(b *testing.B, text string) {
	b.Helper()
	var said strings.Builder
	for a.lines.Scan() {
		if strings.Contains(a.lines.Text(), text) {
			return
		}
		said.WriteString(a.lines.Text() + "\n")
	}
	b.Fatalf("the session ended (%v) without %s:\n%s", a.lines.Err(), text, said.String())
}

func (a *author) end(b *testing.B) {
	b.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGINT); err != nil {
		b.Fatal(err)
	}
	for a.lines.Scan() { // to the end
	}
	if err := a.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
