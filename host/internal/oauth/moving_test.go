package oauth

import (
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// TestASignInThatMoves is not used and not removed: what is removed here would arrive
// there all the same.
func TestASignInThatMoves(t *testing.T) {
	t.Parallel()
	docs, err := documents.OpenDir(t.TempDir(), documents.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := New(docs, Options{})
	s := &Server{Name: "tracker", URL: "https://mcp.example.com/mcp"}
	name := s.id(Owner{}) + grantExt
	if err := docs.Create(t.Context(), name, documents.Mark([]byte(`{"Access":"token"}`), "to there"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), s, Owner{}); !errors.Is(err, documents.ErrMoving) {
		t.Errorf("Find: %v", err)
	}
	if _, err := c.Forget(t.Context(), s, Owner{}); !errors.Is(err, documents.ErrMoving) {
		t.Errorf("Forget: %v", err)
	}
	if b, err := docs.Read(t.Context(), name); err != nil || len(b) == 0 {
		t.Errorf("it has gone: %v", err)
	}
}
