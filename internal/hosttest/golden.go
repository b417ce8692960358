package hosttest

import (
	"bytes"
	"os"
	"testing"
)

// Golden compares text with a file. With update it writes the file instead.
func Golden(t testing.TB, update bool, name string, text []byte) {
	t.Helper()
	if update {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, text) {
		t.Errorf("%s is out of date: run go test with -run %s -update\ngot:\n%s", name, t.Name(), text)
	}
}
