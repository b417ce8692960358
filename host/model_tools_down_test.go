package host

import (
	"context"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestSurfaceNeedsAWorker: a host shows no tools once its guests stop starting.
func TestSurfaceNeedsAWorker(t *testing.T) {
	t.Parallel()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	tools := []catalog.Tool{{Name: "read", DirectOnly: true}}
	h, err := New(context.Background(), Config{Guests: GuestConfig{Path: guest}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if s, err := h.ModelTools(context.Background(), Session{}, tools, ModelToolsOptions{}); err != nil || !s.Active {
		t.Fatalf("with guests: %v, %v", s, err)
	}
	if err := h.engine.Pool.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := h.ModelTools(context.Background(), Session{}, tools, ModelToolsOptions{}); s != nil || !errors.Is(err, &Error{Code: codemode.CodeUnavailable}) {
		t.Errorf("without guests: %v, %v", s, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := h.ModelTools(ended, Session{}, tools, ModelToolsOptions{}); s != nil || !errors.Is(err, &Error{Code: codemode.CodeAborted}) {
		t.Errorf("cancelled: %v, %v", s, err)
	}
}
