package guests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
)

// buildText is the build that tests keep.
const buildText = "a build"

var buildID guestbuilds.ID = sha256.Sum256([]byte(buildText))

// newKeptBuilds returns a directory of builds, and how often a build was written there.
func newKeptBuilds(t *testing.T, write func() error) (k *keptBuilds, written *int, keep func(context.Context) error) {
	t.Helper()
	k, written = &keptBuilds{times: timing.Defaults}, new(int)
	if err := k.open(filepath.Join(t.TempDir(), "builds")); err != nil {
		t.Fatal(err)
	}
	return k, written, func(ctx context.Context) error {
		return k.keep(ctx, buildID, func(w io.Writer) error {
			*written++
			_, err := io.WriteString(w, buildText)
			return errors.Join(err, write())
		})
	}
}

// TestABuildThatCannotBeKeptIsNotTriedForAWhile: runs are suspended without it, and the log
// has the first failure.
func TestABuildThatCannotBeKeptIsNotTriedForAWhile(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	k, written, keep := newKeptBuilds(t, func() error { return full })
	retry := func() { k.builds[buildID].next = time.Time{} }
	if err := keep(t.Context()); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	for range 3 {
		if err := keep(t.Context()); err != nil || *written != 1 {
			t.Fatalf("written %d times, %v", *written, err)
		}
	}
	retry()
	if err := keep(t.Context()); err != nil || *written != 2 {
		t.Errorf("the second attempt: written %d times, %v", *written, err)
	}
	full = nil
	retry()
	if err := keep(t.Context()); err != nil || *written != 3 || !k.builds[buildID].there {
		t.Errorf("the third attempt: written %d times, %v", *written, err)
	}
	full = errors.New("no space left on device, again")
	if err := os.Remove(filepath.Join(k.dir.Path(), hex.EncodeToString(buildID[:]))); err != nil {
		t.Fatal(err)
	}
	retry()
	if err := keep(t.Context()); !errors.Is(err, full) {
		t.Errorf("a failure after a success: %v", err)
	}
}

// TestADirectoryThatCannotBeLockedIsNotTriedForAWhile.
func TestADirectoryThatCannotBeLockedIsNotTriedForAWhile(t *testing.T) {
	t.Parallel()
	k, written, keep := newKeptBuilds(t, func() error { return nil })
	lock := filepath.Join(k.dir.Path(), "lock")
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keep(t.Context()); err == nil {
		t.Fatal("kept without a lock")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := keep(t.Context()); err != nil || *written != 0 {
		t.Errorf("written %d times, %v", *written, err)
	}
}

// TestACancelledAttemptIsNoFailure: the next one is made at once.
func TestACancelledAttemptIsNoFailure(t *testing.T) {
	t.Parallel()
	_, written, keep := newKeptBuilds(t, func() error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := keep(ctx); err != nil || *written != 0 {
		t.Fatalf("written %d times, %v", *written, err)
	}
	if err := keep(t.Context()); err != nil || *written != 1 {
		t.Errorf("written %d times, %v", *written, err)
	}
}

// TestWhileABuildIsKept: others look for guests, and those who need this build wait for the one
// attempt that is made.
func TestWhileABuildIsKept(t *testing.T) {
	t.Parallel()
	entered, open := make(chan struct{}), make(chan struct{})
	k, written, keep := newKeptBuilds(t, func() error {
		close(entered)
		<-open
		return nil
	})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- keep(t.Context()) }()
	<-entered
	if g := k.guest(hex.EncodeToString(buildID[:])); g != nil {
		t.Errorf("found %+v", g)
	}
	if mine, others := k.tryStart(buildID); mine || others == nil {
		t.Errorf("a build that is not there yet: mine %v, %v", mine, others)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := keep(gone); err != nil {
		t.Error(err)
	}
	go func() { second <- keep(t.Context()) }()
	close(open)
	if err := errors.Join(<-first, <-second); err != nil || *written != 1 {
		t.Errorf("written %d times, %v", *written, err)
	}
	if g := k.guest(hex.EncodeToString(buildID[:])); g == nil {
		t.Error("it is not found")
	}
}

// TestABuildThatIsThereIsNotWaitedFor while another goroutine notes that it is in use.
func TestABuildThatIsThereIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	k, _, keep := newKeptBuilds(t, func() error { return nil })
	if err := keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.builds[buildID].next = time.Time{}
	if mine, _ := k.tryStart(buildID); !mine {
		t.Fatal("it is not noted again")
	}
	if err := keep(t.Context()); err != nil {
		t.Error(err)
	}
}
