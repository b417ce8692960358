package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
)

// Options say where plugins are installed and what is accepted. Only Dir is
// required.
type Options struct {
	// Dir is the plugin directory. Install makes it if need be.
	Dir string
	// Trusted are keys; one of them must have signed a plugin. Defaults to no keys:
	// then an archive takes AllowUnsigned, unless the lock vouches for it.
	Trusted []trust.PublicKey
	// AllowUnsigned lets Install and Upgrade run an archive that is not signed, or
	// signed by a key that is not known. It does not count where there are Trusted keys.
	AllowUnsigned bool
	// Configs are configurations by plugin id, with which a plugin is tried.
	Configs map[string]json.RawMessage
	// Secrets are the plugins' secrets by plugin id and name, as they get them when
	// they are tried.
	Secrets map[string]map[string]plugins.SecretSource
	// AnyVersion lets Upgrade replace a plugin by an older version, by one of
	// unknown order, and by other files of the same version.
	AnyVersion bool
	// NewSigner lets Upgrade and Pin replace what one key has signed by what it has
	// not.
	NewSigner bool
	// Flags are appended to the commands that errors propose, so that those mean this
	// directory, too: " --plugins DIR". Defaults to no flags.
	Flags string
	// Quote writes a source into these commands as the user's shell reads it. Defaults
	// to the source as it is.
	Quote func(word string) string
	// Logger receives what a plugin logs while it is tried. Defaults to nothing.
	Logger *slog.Logger
	// StartTimeout bounds the start of a plugin that is tried. Defaults to the
	// StartTimeout of plugins.Options.
	StartTimeout time.Duration
}

// Outcome says what was done with one plugin.
type Outcome struct {
	ID string
	// Dir is the plugin's folder.
	Dir string
	// Entry is what the lock says of it now.
	Entry trust.LockEntry
	// Before is what it said before; its Version is empty if it said nothing.
	Before trust.LockEntry
	// Unchanged: all was as it had to be, and nothing was done.
	Unchanged bool
	// Adopted are further plugins that the lock has taken in because it is new.
	Adopted []string
	// Left are plugins that cannot be loaded, and so are not in the new lock.
	Left []string
}

// Install puts the plugin of an archive or a folder into the directory. It refuses
// a plugin if its id is taken. Where the lock lists a plugin that is not there, it
// installs that and nothing else.
func Install(ctx context.Context, source string, o Options) (*Outcome, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	return change(o, func(d *directory) (*Outcome, error) {
		s, err := d.stage(source)
		if err != nil {
			return nil, err
		}
		id := s.found.ID()
		if _, err := os.Lstat(d.folder(id)); err == nil {
			return nil, fmt.Errorf("plugin %s is installed already, in %s; to replace it, run: %s", id, d.folder(id), o.command("upgrade", source))
		}
		before, listed := d.lock[id]
		if listed {
			if err := sameAs(before, s, source, o); err != nil {
				return nil, err
			}
		} else if err := d.vouched(s, "install", source); err != nil {
			return nil, err
		}
		if err := d.try(ctx, s.found); err != nil {
			return nil, err
		}
		out := &Outcome{ID: id, Dir: d.folder(id), Entry: s.entry, Before: before}
		if listed {
			out.Entry = before // which may know of more platforms
		}
		return out, d.settle(out, func() error { return os.Rename(s.found.Dir, d.folder(id)) })
	})
}

// sameAs reports a plugin that is not the one a lock waits for.
func sameAs(want trust.LockEntry, s *staged, source string, o Options) error {
	_, err := s.found.PinTo(trust.Lock{s.found.ID(): want})
	if err == nil {
		err = want.Compare(s.found.ID(), s.entry)
	}
	var trust *trust.Error
	if errors.As(err, &trust) {
		trust.Accept = "if you trust it, take the entry out of the lock with quoin plugin remove " + s.found.ID() + o.Flags + ", and run: " + o.command("install", source)
	}
	return err
}

// Upgrade replaces an installed plugin. It refuses an older version, other files of
// the same one, and a plugin that the former signer has not signed, unless told
// otherwise.
func Upgrade(ctx context.Context, source string, o Options) (*Outcome, error) {
	return change(o, func(d *directory) (*Outcome, error) {
		s, err := d.stage(source)
		if err != nil {
			return nil, err
		}
		id := s.found.ID()
		if _, err := os.Lstat(d.folder(id)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("plugin %s is not installed in %s; run: %s", id, d.dir, o.command("install", source))
		} else if err != nil {
			return nil, err
		}
		out := &Outcome{ID: id, Dir: d.folder(id), Entry: s.entry, Before: d.before(id)}
		if there, err := plugins.Find(out.Dir).LockEntry(); err == nil && there.Equal(s.entry) && out.Before.Equal(s.entry) && d.locked {
			out.Unchanged = true
			return out, nil
		}
		if err := d.succeeds(out, s, source); err != nil {
			return nil, err
		}
		if err := d.try(ctx, s.found); err != nil {
			return nil, err
		}
		return out, d.settle(out, func() error { return swap(s.found.Dir, d.folder(id)) })
	})
}

// succeeds reports why what is offered may not follow what is there.
func (d *directory) succeeds(out *Outcome, s *staged, source string) error {
	again := "run: " + d.options.command("upgrade", source, "--any-version")
	if err := d.signedAlike(out, "if you trust it, run: "+d.options.command("upgrade", source, "--new-signer")); err != nil {
		return err
	}
	sameSigner := s.entry.Signer != (trust.PublicKey{}) && s.entry.Signer == out.Before.Signer
	if !sameSigner && !d.options.NewSigner {
		if err := d.vouched(s, "upgrade", source); err != nil {
			return err
		}
	}
	from, to := out.Before.Version, out.Entry.Version
	if d.options.AnyVersion || from == "" {
		return nil
	}
	switch order, known := compareVersions(from, to); {
	case from == to && !out.Before.Equal(out.Entry):
		return fmt.Errorf("plugin %s is version %s already, with other files; give the new files a version of their own, or %s", out.ID, from, again)
	case from != to && (!known || order == 0): // as 1.0.0+1 and 1.0.0+2 are
		return fmt.Errorf("which of the versions %s and %s of plugin %s is newer cannot be told; if you want %s, %s", from, to, out.ID, to, again)
	case order > 0:
		return fmt.Errorf("version %s of plugin %s is older than the installed %s; if you want it, %s", to, out.ID, from, again)
	}
	return nil
}

// signedAlike reports a plugin that the key of its predecessor has not signed.
func (d *directory) signedAlike(out *Outcome, accept string) error {
	was, is := out.Before.Signer, out.Entry.Signer
	if was == (trust.PublicKey{}) || was == is || d.options.NewSigner {
		return nil
	}
	e := &trust.Error{PluginID: out.ID, What: "the signer", By: trust.LockName, Want: was.String(), Accept: accept}
	if is != (trust.PublicKey{}) {
		e.Got = is.String()
	}
	return e
}
