package gomodule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The module is one that every test run has in its cache: go.mod requires it.
const (
	path    = "modernc.org/libquickjs"
	version = "v0.14.0"
	sum     = "h1:ck6Rs/h9ImLWG/+KfYMBCcm2mPhC2PpLXcIdu4KqAF4="
)

func TestFetch(t *testing.T) {
	dir, err := Fetch(path, version, sum)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.Contains(string(text), "module "+path) {
		t.Errorf("%s: %v\n%s", dir, err, text)
	}
}

func TestFetchRefusesAnotherChecksum(t *testing.T) {
	if _, err := Fetch(path, version, "h1:other"); err == nil || !strings.Contains(err.Error(), "has the checksum "+sum+", expected h1:other") {
		t.Errorf("%v", err)
	}
}

func TestFetchNamesWhatItCannotFetch(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	if _, err := Fetch(path, "v0.0.1", sum); err == nil || !strings.Contains(err.Error(), path+"@v0.0.1") {
		t.Errorf("%v", err)
	}
}
