package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// KeyFileName is the key of a database in the state directory of a host.
const KeyFileName = "database.key"

// IsDatabase reports whether a value of --state means a database, or says where its URL
// is.
func IsDatabase(state string) bool {
	for _, prefix := range []string{"postgres://", "postgresql://", "env:", "file:"} {
		if strings.HasPrefix(state, prefix) {
			return true
		}
	}
	return false
}

// DatabaseURL is the database in force, or "" where runs are in the state directory.
func (o *Flags) DatabaseURL(f *configfile.File) (string, error) {
	given := cmp.Or(o.State, f.StateURL)
	if !IsDatabase(given) {
		return "", nil
	}
	if !strings.HasPrefix(given, "postgres") {
		source, err := plugins.ParseSecretSource(given)
		if err != nil {
			return "", cli.AsInput(fmt.Errorf("the database is %q, expected postgres://user@host/database, %w", given, err), codemode.ReasonInvalidConfig)
		}
		at := given
		if given, err = source(); err != nil {
			return "", cli.AsInput(fmt.Errorf("URL of the database: %w", err), codemode.ReasonInvalidConfig)
		}
		if !strings.HasPrefix(given, "postgres://") && !strings.HasPrefix(given, "postgresql://") {
			return "", cli.AsInput(fmt.Errorf("%s has no URL of a database: expected postgres://user@host/database", at), codemode.ReasonInvalidConfig)
		}
	}
	return given, nil
}

// withoutPassword is a value of --state that can be shown and stored.
func withoutPassword(state string) string {
	u, err := url.Parse(state)
	if err != nil || u.User == nil {
		return state
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

// StateDir returns the state directory in force. With a database, it is what this host
// alone has.
func (o *Flags) StateDir(f *configfile.File) (string, error) {
	if IsDatabase(o.State) {
		return paths.State("", f.StateDir)
	}
	if scheme, _, is := strings.Cut(o.State, "://"); is {
		return "", cli.AsInput(fmt.Errorf("--state: %s:// is neither a directory nor a database: expected postgres://user@host/database, env:NAME or file:/path", scheme), codemode.ReasonInvalidConfig)
	}
	return paths.State(o.State, f.StateDir)
}

// existingState is the state directory, which must have been used.
func (o *Flags) existingState(f *configfile.File) (string, error) {
	state, err := o.StateDir(f)
	if err != nil {
		return "", err
	}
	if url, err := o.DatabaseURL(f); url != "" || err != nil {
		return state, err
	}
	if !IsStateDir(state) {
		return "", fmt.Errorf("%s is not a state directory: give that of the command that suspended the run or asks, with --state", state)
	}
	return state, nil
}

// IsStateDir reports whether a directory has a state, of this version or an earlier one.
func IsStateDir(dir string) bool {
	for _, name := range []string{sqlite.FileName, "runs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// Database is what a state is kept in: a file of this machine, or a database that several hosts
// share.
type Database interface {
	runstore.Store
	runstore.Identified
	runstore.Inventory
	Approvals() *policy.StoredApprovals
	Programs() *programs.Stored
	Pins() *mcp.Pins
	SignIns(mcp.SignInOptions) (*mcp.SignIns, error)
	Tasks() (documents.Store, error)
	PluginStorage(id string, fail func(error)) protocol.Storage
	Copied() statecopy.State
	Close() error
}

// OpenState adds what outlives a host: runs, approvals, programs, pins, sign-ins and the
// storages of plugins. The caller closes the database, after the host, with CloseState.
func (o *Flags) OpenState(ctx context.Context, f *configfile.File, state string, cfg *host.Config) (err error) {
	if err := o.OpenDatabase(ctx, f, state, cfg.Logger); err != nil {
		return err
	}
	d := o.Database
	cfg.Store, cfg.Approvals.Store, cfg.Programs.Store = d, d.Approvals(), d.Programs()
	cfg.Guests.Builds = guestBuilds(state, cfg.Guests.Builds)
	cfg.MCP.Pins, cfg.Plugins.OpenStorage = d.Pins(), d.PluginStorage
	cfg.MCP.SignIns, err = d.SignIns(signInOptions(cfg.Approvals.Store, cfg.Logger))
	return err
}

// OpenDatabase opens what the state is kept in.
func (o *Flags) OpenDatabase(ctx context.Context, f *configfile.File, state string, log *slog.Logger) error {
	url, err := o.DatabaseURL(f)
	if err != nil {
		return err
	}
	if url == "" {
		d, err := sqlite.Open(ctx, state, sqlite.Options{Logger: log, Moving: o.Moving})
		if err == nil {
			o.Database = d
		}
		return err
	}
	key, err := databaseKey(ctx, url, cmp.Or(f.StateKeyFile, filepath.Join(state, KeyFileName)))
	if err != nil {
		return err
	}
	d, err := postgres.Open(ctx, url, postgres.Options{Key: key, Logger: log, Moving: o.Moving})
	if err == nil {
		o.Database = d
	}
	return err
}

// databaseKey reads the key of a database. The first host makes it.
func databaseKey(ctx context.Context, url, path string) (*runstore.Key, error) {
	key, err := runstore.OpenKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	has, err := postgres.HasKey(ctx, url)
	if err != nil {
		return nil, err
	}
	if has {
		return nil, fmt.Errorf("other hosts have sealed what is in the database, and their key is not in %s: copy that file of one of them, mode 0600", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("key of the database: %w", err)
	}
	return runstore.CreateKey(path)
}

// CloseState is for when the host has closed.
func (o *Flags) CloseState() error {
	if o.Database == nil {
		return nil
	}
	return o.Database.Close()
}

// guestBuilds is where the guests of stored runs are kept, or "".
func guestBuilds(state, configured string) string {
	switch configured {
	case "":
		return filepath.Join(state, "guest-builds")
	case paths.None:
		return ""
	}
	return configured
}
