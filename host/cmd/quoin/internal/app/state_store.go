package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
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
	if _, err := os.Stat(filepath.Join(state, "runs")); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not a state directory: give that of the command that suspended the run or asks, with --state", state)
	}
	return state, nil
}

// OpenState adds what outlives a host: runs, approvals, programs, pins, sign-ins and the
// storages of plugins, of a state directory or of a database. The caller closes the
// database, after the host, with CloseState.
func (o *Flags) OpenState(ctx context.Context, f *configfile.File, state string, cfg *host.Config) error {
	if err := o.OpenRuns(ctx, f, state, cfg); err != nil {
		return err
	}
	approvals, err := o.OpenApprovals(state, cfg.Store)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	saved, err := o.OpenPrograms(state, cfg.Store)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	cfg.Approvals.Store, cfg.Programs.Store = approvals, saved
	cfg.Guests.Builds = guestBuilds(state, cfg.Guests.Builds)
	if d := o.Database; d != nil {
		cfg.MCP.Pins, cfg.Plugins.OpenStorage = d.Pins(), d.PluginStorage
		cfg.MCP.SignIns, err = d.SignIns(signInOptions(approvals, cfg.Logger))
		return err
	}
	cfg.MCP.SignIns, err = openSignIns(state, cfg.Store, signInOptions(approvals, cfg.Logger))
	return err
}

// OpenRuns adds the runs of a database, or of the state directory.
func (o *Flags) OpenRuns(ctx context.Context, f *configfile.File, state string, cfg *host.Config) error {
	if err := o.OpenDatabase(ctx, f, state, cfg); err != nil || o.Database != nil {
		return err
	}
	store, err := runstore.OpenDir(filepath.Join(state, "runs"))
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	cfg.Store = store
	return nil
}

// OpenApprovals opens the approvals next to the runs.
func (o *Flags) OpenApprovals(state string, runs runstore.Store) (*policy.StoredApprovals, error) {
	if dir, ok := runs.(*runstore.Dir); ok {
		return policy.OpenApprovals(filepath.Join(state, "approvals"), dir)
	}
	return o.Database.Approvals(), nil
}

// OpenPrograms opens the programs next to the runs.
func (o *Flags) OpenPrograms(state string, runs runstore.Store) (*programs.Stored, error) {
	if dir, ok := runs.(*runstore.Dir); ok {
		return programs.OpenDir(filepath.Join(state, "programs"), dir)
	}
	return o.Database.Programs(), nil
}

// OpenTasks opens the tasks of MCP clients next to the runs, nil if those are in memory.
func OpenTasks(state string, runs runstore.Store) (*mcpserver.Tasks, error) {
	switch store := runs.(type) {
	case *runstore.Dir:
		return mcpserver.OpenTasks(filepath.Join(state, "tasks"), store)
	case *postgres.DB:
		docs, err := store.Tasks()
		if err != nil {
			return nil, err
		}
		return mcpserver.NewTasks(docs), nil
	}
	return nil, nil
}

// OpenDatabase puts the runs of a database in the place of the runs of the directory, if there
// is a database.
func (o *Flags) OpenDatabase(ctx context.Context, f *configfile.File, state string, cfg *host.Config) error {
	url, err := o.DatabaseURL(f)
	if url == "" || err != nil {
		return err
	}
	key, err := databaseKey(ctx, url, cmp.Or(f.StateKeyFile, filepath.Join(state, KeyFileName)))
	if err != nil {
		return err
	}
	o.Database, err = postgres.Open(ctx, url, postgres.Options{Key: key, Logger: cfg.Logger})
	if err != nil {
		return err
	}
	cfg.Store = o.Database
	return nil
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
