//go:build unix

package node

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/mutualtls"
)

// TestFilesThatOthersCanUseAreRefused opens files and directories to other users.
func TestFilesThatOthersCanUseAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodes")
	nodes := Open(dir)
	if err := nodes.store.create("n", enrolmentFile{Enrolment: Enrolment{Name: "n", Address: "h:1", Fingerprint: mutualtls.Fingerprint{}.String()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.read("n"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "n.json")
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		var open *durable.NotPrivateError
		if _, err := nodes.read("n"); !errors.As(err, &open) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.read("n"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory that others can write: %v", err)
	}
}

// TestEnrolmentsOfOthersAreRefused puts files in the place of others.
func TestEnrolmentsOfOthersAreRefused(t *testing.T) {
	nodes := Open(filepath.Join(t.TempDir(), "nodes"))
	good := Enrolment{Name: "a", Address: "h:1", Fingerprint: mutualtls.Fingerprint{}.String()}
	for name, e := range map[string]Enrolment{
		"b": good,
		"c": {Name: "c", Address: "h", Fingerprint: good.Fingerprint},
		"d": {Name: "d", Address: "h:1", Fingerprint: "00"},
	} {
		if err := nodes.store.create(name, enrolmentFile{Enrolment: e}); err != nil {
			t.Fatal(err)
		}
		if _, err := nodes.Node(name); err == nil {
			t.Errorf("%+v is taken as %s", e, name)
		}
	}
	for _, name := range []string{"", "..", "../a", "A", "a/b", "a.json", strings.Repeat("a", 64)} {
		if _, err := nodes.Node(name); err == nil {
			t.Errorf("%q names a node", name)
		}
		if err := nodes.Remove(name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
	if _, err := nodes.Node("e"); !errors.Is(err, ErrNoNode) {
		t.Errorf("%v", err)
	}
}

// TestInvitationsAreFew makes as many invitations as may be open, and then one more.
func TestInvitationsAreFew(t *testing.T) {
	h := OpenHome(filepath.Join(t.TempDir(), "node"))
	if _, err := h.Invite(25 * time.Hour); err == nil {
		t.Error("an invitation for more than a day")
	}
	for range maxInvitations {
		if err := h.invitations.create(mutualtls.Fingerprint(newRandom(t)).String(), invitation{Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Invite(time.Hour); err == nil {
		t.Error("one invitation more than may be open")
	}
	names, err := h.invitations.names()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.invitations.remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if err := h.invitations.create(names[0], invitation{Expires: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invite(time.Hour); err != nil {
		t.Errorf("the place of one that has expired: %v", err)
	}
}

func newRandom(t *testing.T) (b [secretBytes]byte) {
	t.Helper()
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return b
}
