package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A job passes when the machine says so, and says what the job is for.
func TestTranscript(t *testing.T) {
	const passed, failed = `quoin-result {"Name":"a","Exit":0}`, `quoin-result {"Name":"a","Exit":1}`
	tests := map[string]struct {
		console string
		passes  bool
		shows   string
	}{
		"passed":          {"quoin-ready aarch64\n=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n" + passed + "\n", true, "ok   a: 1 tests, 0 skipped"},
		"failed":          {"--- FAIL: TestA (0.00s)\n    a_test.go:1: wrong\nFAIL\n" + failed + "\n", false, "a_test.go:1: wrong"},
		"did not end":     {"=== RUN   TestA\nKernel panic\n", false, "Kernel panic"},
		"not whole":       {"quoin-result {\n", false, "the machine says"},
		"nothing":         {"", false, "did not end"},
		"says it":         {"tier A: every layer\n" + `quoin-result {"Name":"a","Exit":0,"Says":"tier A:"}` + "\n", true, "tier A"},
		"does not say it": {"tier B\n" + `quoin-result {"Name":"a","Exit":0,"Says":"tier A:"}` + "\n", false, "tier B"},
		"carriage return": {"--- PASS: TestA (0.00s)\r\n" + passed + "\r\n", true, "1 tests"},
		"skipped":         {"--- SKIP: TestA (0.00s)\n--- PASS: TestB (0.00s)\n" + passed, true, "1 tests, 1 skipped"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			said := transcript{start: time.Now(), out: &out}
			if err := said.follow(strings.NewReader(tt.console)); err != nil {
				t.Fatal(err)
			}
			if err := said.verdict(1); (err == nil) != tt.passes {
				t.Errorf("the verdict is %v", err)
			}
			if !strings.Contains(out.String(), tt.shows) {
				t.Errorf("it shows %q, not %q", out.String(), tt.shows)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(options{})
	if err != nil {
		t.Fatal(err)
	}
	native, err := choose(options{native: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(all)+len(native) != len(plan) {
		t.Errorf("%d and %d of %d jobs", len(all), len(native), len(plan))
	}
	short, err := choose(options{short: true})
	if err != nil || len(short) >= len(all) {
		t.Errorf("the chosen set has %d of %d jobs, %v", len(short), len(all), err)
	}
	if _, err := choose(options{only: "no such job"}); err == nil {
		t.Error("no job is chosen, without an error")
	}
	names := map[string]bool{}
	for _, j := range plan {
		if names[j.Name] {
			t.Errorf("two jobs are called %q", j.Name)
		}
		names[j.Name] = true
	}
}

// The kernel reads headers of 110 bytes, and contents that start at a multiple of four.
func TestArchive(t *testing.T) {
	var b strings.Builder
	a := archive{w: &b, made: map[string]bool{}}
	a.add("/a/b", []byte("hello"), 0o755)
	a.add("/a/c", nil, 0o644)
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for rest := b.String(); rest != ""; {
		if !strings.HasPrefix(rest, "070701") || len(rest) < 110 {
			t.Fatalf("no header at %q", rest)
		}
		size, length := number(t, rest[54:62]), number(t, rest[94:102])
		names = append(names, rest[110:110+length-1])
		content := (110 + length + 3) &^ 3
		if got := rest[content : content+size]; size > 0 && got != "hello" {
			t.Errorf("the content is %q", got)
		}
		rest = rest[content+(size+3)&^3:]
	}
	if got := strings.Join(names, " "); got != "a a/b a/c TRAILER!!!" {
		t.Errorf("the entries are %s", got)
	}
}

func number(t *testing.T, hexadecimal string) int {
	t.Helper()
	n, err := strconv.ParseInt(hexadecimal, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// What the machine has for a toolchain refuses all else.
func TestGoCommandRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"build"}, {"run", "./testdata/x"}, {"list", "-deps", "."}, {"build", "-o", t.TempDir() + "/x", "./absent"}} {
		if err := goCommand(args); err == nil || !strings.Contains(err.Error(), "no Go toolchain") {
			t.Errorf("go %v: %v", args, err)
		}
	}
}

// The machine hands out a worker for each of the commands with which tests build one.
func TestGoCommandHandsOutWorkers(t *testing.T) {
	to := filepath.Join(t.TempDir(), "worker")
	for _, args := range [][]string{
		{"run", "-pgo=off", modulePath + optimizeTool, "-o", to},
		{"run", "-pgo=off", modulePath + nativeTool, "-o", to},
		{"build", "-trimpath", "-o", to, modulePath + workerProgram},
	} {
		if err := goCommand(args); err == nil || !strings.Contains(err.Error(), "no program "+workerProgram) {
			t.Errorf("go %v: %v", args, err)
		}
	}
}
