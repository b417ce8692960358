package guestrt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

func TestAMissingGuestIsExplained(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing")
	_, err := NewPool(context.Background(), Config{GuestPath: missing})
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	for _, words := range []string{missing, "guest.path", "go build"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
}

func TestNoGuestAtAllNamesAllThreePlaces(t *testing.T) {
	err := notFound("/opt/app/quoin-guest")
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	for _, words := range []string{"guest.path", "/opt/app/quoin-guest", "ServeIfWorker", "go build"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
}

func TestAProgramOfGoRunLearnsWhatToDo(t *testing.T) {
	for _, dir := range []string{"/tmp/go-build3141/b001/exe", "/home/me/.cache/go-build/59/59" + strings.Repeat("e", 62) + "-d"} {
		err := notFound(dir + "/quoin-guest")
		wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
		for _, words := range []string{"guest.path", "go run", "go build -o bin/", "ServeIfWorker"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not say %q", err, words)
			}
		}
		if strings.Contains(err.Error(), dir) {
			t.Errorf("%q names a directory that is go's own", err)
		}
	}
}

func TestUnsuitableGuestsAreRefused(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string]string{
		dir:    "not a file",
		script: "not an executable",
	} {
		_, err := NewPool(context.Background(), Config{GuestPath: path})
		wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
}

// TestAnotherBuildIsRefused: a file that was replaced since its build was taken does not
// serve snapshots of that build.
func TestAnotherBuildIsRefused(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id, err := BuildOf(self)
	if err != nil {
		t.Fatal(err)
	}
	b, err := findBinary(Config{GuestPath: self, BuildID: id})
	if err != nil {
		t.Fatalf("the expected build: %v", err)
	}
	if err := b.file.Close(); err != nil {
		t.Error(err)
	}
	id[0]++
	_, err = NewPool(t.Context(), Config{GuestPath: self, BuildID: id})
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	if !strings.Contains(err.Error(), self) || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("got %v", err)
	}
}

// TestAReplacedFileIsHashedAgain: a process remembers the build of a file only as long as the
// file is the same.
func TestAReplacedFileIsHashedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guest")
	executable := make([]byte, 64) // an ELF header of an amd64 program without sections
	copy(executable, "\x7fELF\x02\x01\x01")
	executable[16], executable[18], executable[20], executable[52] = 2, 62, 1, 64
	builds := map[[32]byte]bool{}
	for _, tail := range []string{"a", "b", "cc"} {
		next := path + tail
		if err := os.WriteFile(next, append(executable, tail...), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			id, err := BuildOf(path)
			if err != nil {
				t.Fatal(err)
			}
			builds[id] = true
		}
	}
	if len(builds) != 3 {
		t.Errorf("three files have %d builds", len(builds))
	}
}

func TestPositionIndependentGuestsAreRefused(t *testing.T) {
	// An ELF header of a position independent amd64 program without sections.
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[18], header[20], header[52] = 3, 62, 1, 64
	path := filepath.Join(t.TempDir(), "pie")
	if err := os.WriteFile(path, header, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := openBinary(path)
	if err == nil || !strings.Contains(err.Error(), "position independent") {
		t.Errorf("got %v", err)
	}
}
