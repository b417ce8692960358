package childprocess_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/internal/childprocess"
)

// TestWhyAProgramDoesNotStart: what the system says is explained.
func TestWhyAProgramDoesNotStart(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	for text, want := range map[string]string{
		"#! /no/such/node --flag\n":                 "needs /no/such/node, which is not on this machine",
		"#!/bin/sh\r\necho never\r\n":               `ends in a carriage return, so that the system looks for "/bin/sh\r"`,
		"#!/usr/bin/env sh\r\necho never\r\n":       `ends in a carriage return, so that the system looks for "sh\r"`,
		"#!/usr/bin/env -S A=1 no-such-program x\n": "needs no-such-program, which is not in its PATH",
		"\uFEFF#!/bin/sh\n":                         "because it starts with a byte order mark",
		"echo hello\n":                              "has no first line that names an interpreter, such as #!/bin/sh",
		"":                                          "has no first line that names an interpreter",
		"\xCA\xFE\xBA\xBE\x00\x00":                  "is not a program for linux/",
	} {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, cmd := range []*exec.Cmd{{Path: path, Dir: here}, {Path: "./program", Dir: filepath.Dir(path)}} {
			p, err := childprocess.Start(t.Context(), cmd)
			if err == nil {
				err = p.Outcome()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v; want %q", text, err, want)
			}
		}
	}
	file := filepath.Join(here, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(here, "missing"), file} {
		if _, err := childprocess.Start(t.Context(), &exec.Cmd{Path: "/bin/sh", Dir: dir}); err == nil || !strings.Contains(err.Error(), "the folder "+dir+", in which the program is to run, is no folder") {
			t.Error(err)
		}
	}
}

// TestANamedPipeIsNoProgram: to look for its first line would wait for ever.
func TestANamedPipeIsNoProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	if err := syscall.Mkfifo(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := childprocess.Start(t.Context(), &exec.Cmd{Path: path}); !errors.Is(err, syscall.EACCES) {
		t.Error(err)
	}
}

// TestAScriptMayEndSo: a status that env has too is not explained when its interpreter is there.
func TestAScriptMayEndSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env sh\nexit 127\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := childprocess.Start(t.Context(), &exec.Cmd{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Outcome(); err == nil || err.Error() != "exit status 127" {
		t.Error(err)
	}
}
