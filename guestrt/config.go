package guestrt

import (
	"context"
	"log/slog"
	"time"
)

// Config configures a Pool. The zero value works.
type Config struct {
	// Engine says which engine runs the guests. Defaults to the engine of the
	// worker at GuestPath.
	Engine Engine
	// GuestPath is the executable of the default engine's worker. Defaults to
	// "quoin-guest" next to the running executable, then to the running executable
	// itself if it called guestserver.ServeIfWorker.
	GuestPath string
	// NativePath is the executable of the native engine's worker. Defaults to
	// "quoin-guest-native" next to the running executable, then to the running
	// executable itself if it called guestserver.ServeIfWorker and was built with
	// that engine.
	NativePath string
	// BuildID is the build that the executable must be, as [BuildOf] returns it:
	// NewPool refuses another one. Defaults to any build.
	BuildID [32]byte
	// Prepared is how many warm processes wait for a session, and how many
	// used ones wait for theirs to come back. Defaults to 2.
	Prepared int
	// MaxPrepared bounds the warm processes under load: whenever someone finds the
	// pool empty, it keeps one more ready for a minute. Defaults to four times
	// Prepared.
	MaxPrepared int
	// Isolation says what happens where the system lacks layers of the sandbox.
	// Defaults to IsolationRequired.
	Isolation Isolation
	// Logger receives what workers write to their standard error. Defaults to
	// a logger that drops everything.
	Logger *slog.Logger
}

const (
	defaultPrepared = 2
	// startTimeout bounds the time from the start of a process to its Ready.
	startTimeout = 10 * time.Second
	// softDeadlineMargin is how long before the deadline the guest is asked to stop, unless
	// that is more than a quarter of the time that is left.
	softDeadlineMargin = 50 * time.Millisecond
)

func (c Config) filled() Config {
	if c.Prepared <= 0 {
		c.Prepared = defaultPrepared
	}
	if c.MaxPrepared <= 0 {
		c.MaxPrepared = 4 * c.Prepared
	}
	c.MaxPrepared = max(c.MaxPrepared, c.Prepared)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// FileFunc serves the guest's virtual files. It is called while the guest waits
// and with the context of the call the guest is in; its time counts against the
// deadline. A nil FileFunc has no files.
type FileFunc func(ctx context.Context, path string) (data []byte, found bool)
