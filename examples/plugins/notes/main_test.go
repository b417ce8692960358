package main

import (
	"os"
	"os/exec"
	"testing"
)

// needNode ends the test where there is no Node.js: it fails if CI is true, and is
// skipped otherwise.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		// The plugin is a program for Node.js, which this machine does not have.
		t.Skip(err)
	}
}
