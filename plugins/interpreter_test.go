//go:build linux

package plugins

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// script makes the folder of a plugin that is a script.
func script(t *testing.T, text string) Candidate {
	t.Helper()
	dir := filepath.Join(shortDir(t), "script")
	writeFile(t, filepath.Join(dir, manifest.Name), `{"id": "script", "version": "1.0.0", "protocol": 2, "command": "./script.sh"}`)
	writeFile(t, filepath.Join(dir, "script.sh"), text)
	if err := os.Chmod(filepath.Join(dir, "script.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Find(dir)
}

// TestAScriptIsStarted by the interpreter of its first line, and a script
// without its interpreter says so, also where an editor of Windows has changed its name.
func TestAScriptIsStarted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"#!/bin/sh\necho started by $0 >&2; exit 3\n":           "/script.sh",
		"#!/no/such/node --flag\n":                              "needs /no/such/node, which is not on this machine",
		"#! /bin/sh\r\necho never\r\n":                          `ends in a carriage return, so that the system looks for "/bin/sh\r"`,
		"#!/usr/bin/env no-such-interpreter-at-all\n":           "no-such-interpreter-at-all",
		"#!/usr/bin/env node\r\n":                               `the system looks for "node\r"`,
		"\uFEFF#!/bin/sh\n":                                     "starts with a byte order mark",
		"no first line of a script, and no program of any kind": "is not a program for",
	} {
		err := notStarted(t, script(t, text), testOptions(t))
		var start *StartError
		if !errors.As(err, &start) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
