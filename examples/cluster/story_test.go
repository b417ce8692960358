package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresDemo plays the demonstration: two of three hosts are killed, and every run
// completes on the third.
func TestPostgresDemo(t *testing.T) {
	database := postgrestest.Database(t)
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	quoin := filepath.Join(t.TempDir(), "quoin")
	if text, err := exec.Command("go", "build", "-pgo=off", "-o", quoin, "github.com/quoinhq/quoin/host/cmd/quoin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var out strings.Builder
	s := &stage{quoin: quoin, guest: guest, database: database, dir: t.TempDir(), out: &out}
	err = s.play(t.Context())
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "9 of 9 runs completed on gamma") || !strings.Contains(out.String(), "owner: alpha, epoch 1") {
		t.Error("it does not say who owned what")
	}
}
