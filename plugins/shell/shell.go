package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

// killGrace is how long a process has to end before it is killed.
const killGrace = 2 * time.Second

// shell is what the tools work on.
type shell struct {
	storage *sdk.Storage
	logger  *slog.Logger

	// Set by configure.
	settings *settings.Settings
	workdir  string // of commands that do not name one
	hosts    hosts
	table    *sessions.Table

	lostMu sync.Mutex
	lost   map[string]record // processes of earlier processes of the plugin
}

func (s *shell) configure(ctx context.Context, c sdk.Config) error {
	var err error
	if s.settings, err = settings.Parse(c.JSON); err != nil {
		return fmt.Errorf("plugins.shell: %w", err)
	}
	if s.workdir, err = makeWorkdir(s.settings.Workdir, c.DataDir); err != nil {
		return fmt.Errorf("plugins.shell.workdir: %w", err)
	}
	if s.hosts, err = newHosts(s.settings, s.workdir, s.logger); err != nil {
		return err // it names the field
	}
	s.table = sessions.New(sessions.Limits{
		OutputBytes: int(s.settings.OutputBytes),
		Running:     int(s.settings.MaxProcesses),
		Keep:        time.Duration(s.settings.KeepSeconds) * time.Second,
		Grace:       killGrace,
	}, s.forget)
	return s.loadLost(ctx)
}

// drain ends the processes, so that the calls that wait for them end: the next process
// of the plugin could not look after them.
func (s *shell) drain(context.Context) {
	if s.table != nil { // the host never called configure
		s.table.Close(lostRunning)
	}
}

func (s *shell) close() error {
	if s.table == nil { // the host never called configure
		return nil
	}
	s.table.Close(lostRunning)
	return s.hosts.close()
}

// makeWorkdir returns the working directory without links, and makes the one in the
// plugin's own data.
func makeWorkdir(configured, dataDir string) (string, error) {
	if configured == "" {
		configured = filepath.Join(dataDir, "work")
		if err := os.Mkdir(configured, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return filepath.EvalSymlinks(configured)
}
