package runstore_test

import (
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestASealIsOfOnePurposeNameAndStore: it cannot be passed off as another.
func TestASealIsOfOnePurposeNameAndStore(t *testing.T) {
	open := func() *runstore.Dir {
		d, err := runstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open()
	sealed := d.Sealer("approvals").Seal("a", []byte("content"))
	if b, err := d.Sealer("approvals").Open("a", sealed); err != nil || string(b) != "content" {
		t.Errorf("for its own purpose: %q, %v", b, err)
	}
	for what, read := range map[string]func() ([]byte, error){
		"for another purpose": func() ([]byte, error) { return d.Sealer("results").Open("a", sealed) },
		"for no purpose":      func() ([]byte, error) { return d.Sealer("").Open("a", sealed) },
		"under another name":  func() ([]byte, error) { return d.Sealer("approvals").Open("b", sealed) },
		"by another store":    func() ([]byte, error) { return open().Sealer("approvals").Open("a", sealed) },
		"cut off":             func() ([]byte, error) { return d.Sealer("approvals").Open("a", sealed[:len(sealed)-1]) },
		"empty":               func() ([]byte, error) { return d.Sealer("approvals").Open("a", nil) },
	} {
		if b, err := read(); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("%s: %q, %v, want ErrCorrupt", what, b, err)
		}
	}
	for i := range sealed {
		bad := append([]byte(nil), sealed...)
		bad[i] ^= 1
		if b, err := d.Sealer("approvals").Open("a", bad); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("with another byte %d: %q, %v, want ErrCorrupt", i, b, err)
		}
	}
}
