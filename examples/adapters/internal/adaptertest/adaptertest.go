// Package adaptertest starts hosts for the tests of the adapters. A test program is also
// its own guest worker, as a gateway is.
package adaptertest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/host"
)

// Main runs the tests of a package.
func Main(m *testing.M) {
	guestserver.ServeIfWorker()
	os.Exit(m.Run())
}

// Config is the configuration of a silent host.
func Config() host.Config {
	return host.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// Host returns a host that is closed when the test ends.
func Host(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(context.Background(), Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

type userKey struct{}

// As returns the context of a request of a user.
func As(user string) context.Context { return context.WithValue(context.Background(), userKey{}, user) }

// User returns the user of a request.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// Session is the session of a request.
func Session(ctx context.Context) host.Session { return host.Session{SessionID: User(ctx)} }
