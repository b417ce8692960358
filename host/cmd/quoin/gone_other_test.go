//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func cmdGone(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("gone works on Linux")
}
