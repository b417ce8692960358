package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// LockName is the file in a plugin directory that says which plugins may start,
// and as what files.
const LockName = "quoin.lock"

// lockHeader is the first line that is no comment; its number is the format's.
const lockHeader = LockName + " 1"

// lockComment is for people who come upon the file.
const lockComment = "# Which plugins may start, and as what files. Written by: quoin plugin install, upgrade, pin, remove\n"

// maxLockBytes bounds a lock file.
const maxLockBytes = 4 << 20

// Lock is what a lock file says, by plugin id. A plugin that is not in it does not start.
// A nil Lock stands for a directory without a lock file, where every plugin may start; an
// empty one lets no plugin start.
type Lock map[string]LockEntry

// LockEntry is what one plugin has to be. [EntryOf] makes the entry of a plugin as it is.
type LockEntry struct {
	// Version is the manifest's.
	Version string
	// Manifest is the SHA-256 of plugin.json, in hex like the others.
	Manifest string
	// Binaries are the SHA-256 sums of the binaries by platform; at least one. A host
	// compares the one of its own platform, and needs it to be there.
	Binaries map[string]string
	// Files is the SHA-256 of the list of the plugin's other files, with their
	// checksums; empty if it has no other files.
	Files string
	// Signer is the key that signed the plugin, and must sign what follows it; zero
	// if it was not signed.
	Signer PublicKey
}

// Equal reports whether two entries say the same of every platform.
func (e LockEntry) Equal(other LockEntry) bool {
	return e.Version == other.Version && e.Manifest == other.Manifest && e.Files == other.Files && e.Signer == other.Signer && maps.Equal(e.Binaries, other.Binaries)
}

// Compare returns a *[Error] for the first thing on this platform that got is
// and e is not, with e as what the lock says.
func (e LockEntry) Compare(id string, got LockEntry) error {
	pin := func(e LockEntry) Pin {
		return Pin{Manifest: e.Manifest, Binary: e.Binaries[manifest.HostPlatform()], Files: e.Files, By: LockName, Accept: acceptByPin("", id)}
	}
	return pin(e).Compare(id, pin(got))
}

// Extend returns next with the binaries for further platforms that e has of the
// same plugin: the same version, manifest and other files.
func (e LockEntry) Extend(next LockEntry) LockEntry {
	if e.Version != next.Version || e.Manifest != next.Manifest || e.Files != next.Files {
		return next
	}
	both := maps.Clone(e.Binaries)
	maps.Copy(both, next.Binaries)
	next.Binaries = both
	return next
}

// EntryOf returns the entry of the plugin in dir with manifest m, as its files are now.
// It has a signer only if the files are still what was signed.
func EntryOf(dir string, m manifest.Manifest) (LockEntry, error) {
	c, err := ReadContents(dir, m)
	if err != nil {
		return LockEntry{}, err
	}
	e := LockEntry{Version: m.Version, Manifest: c.Sum(manifest.Name), Files: c.filesSum(m), Binaries: map[string]string{}}
	for platform, binary := range m.Binaries() {
		e.Binaries[platform] = c.Sum(binary)
	}
	sums, err := ReadSums(dir)
	if err == nil && slices.Equal(sums.Contents, c) {
		e.Signer = sums.Signer()
	}
	return e, err
}

// LockError says what is wrong with a lock file. As long as there is one, no
// plugin of its directory starts.
type LockError struct {
	Path string
	// Line counts from 1; 0 if the file as a whole is meant.
	Line int
	// Problem is what was found and what was expected.
	Problem string
	// Err is what the system says, if it was that.
	Err error
}

// Error names file, line and problem, and what to do.
func (e *LockError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where += fmt.Sprintf(" line %d", e.Line)
	}
	return where + ": " + e.Problem + "; no plugin starts until the file is restored, or removed and written again by: quoin plugin pin --all --plugins " + filepath.Dir(e.Path)
}

// Unwrap returns the error of the system.
func (e *LockError) Unwrap() error { return e.Err }

// ReadLock reads the lock of a plugin directory. It returns nil and no error if the
// directory has no lock file; a caller that found one before must not take that for
// permission. Every error is a *[LockError]. A link in place of the file is refused.
func ReadLock(dir string) (Lock, error) {
	name := filepath.Join(dir, LockName)
	fail := func(err error) error {
		return &LockError{Path: name, Problem: "cannot be read: " + err.Error(), Err: err}
	}
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail(err)
	}
	if !info.Mode().IsRegular() {
		return nil, &LockError{Path: name, Problem: "not a regular file"}
	}
	text, err := durable.ReadFile(name, maxLockBytes)
	if errors.Is(err, durable.ErrTooLarge) {
		return nil, &LockError{Path: name, Problem: fmt.Sprintf("larger than %d bytes", maxLockBytes)}
	}
	if err != nil {
		return nil, fail(err)
	}
	lock, err := parseLock(text)
	var wrong *LockError
	if errors.As(err, &wrong) {
		wrong.Path = name
	}
	return lock, err
}

// WriteLock replaces the lock of a plugin directory in one step: a reader finds the old
// one or the new one, also after a power failure. It refuses entries that [parseLock]
// would not read back.
func WriteLock(dir string, l Lock) error {
	if err := l.check(); err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, LockName), l.Text(), durable.Options{Mode: 0o644})
}

// check reports entries that ParseLock would not read back.
func (l Lock) check() error {
	for _, id := range slices.Sorted(maps.Keys(l)) {
		if !manifest.IsID(id) || !manifest.IsVersion(l[id].Version) {
			return fmt.Errorf("%s: plugin %q of version %q cannot be locked", LockName, id, l[id].Version)
		}
		if problem := l[id].missingPart(); problem != "" {
			return fmt.Errorf("%s: plugin %s %s", LockName, id, problem)
		}
	}
	return nil
}

// missingPart says what an entry lacks.
func (e LockEntry) missingPart() string {
	switch {
	case e.Manifest == "":
		return "has no line for " + manifest.Name
	case len(e.Binaries) == 0:
		return "has no line for a platform, such as linux/amd64"
	}
	return ""
}

// The first words of the lines of an entry, besides platforms.
const (
	lockFiles  = "files"
	lockSigner = "signer"
)

// Text writes the lock as its file has it. Equal locks have equal texts, and a change of
// one plugin changes the lines of that plugin only, so that the file can be reviewed under
// version control.
func (l Lock) Text() []byte {
	var b strings.Builder
	b.WriteString(lockComment + lockHeader + "\n")
	for _, id := range slices.Sorted(maps.Keys(l)) {
		e := l[id]
		line := func(name, value string) {
			if value != "" {
				b.WriteString("\t" + name + " " + value + "\n")
			}
		}
		b.WriteString("\nplugin " + id + " " + e.Version + "\n")
		line(manifest.Name, sha256Text(e.Manifest))
		line(lockFiles, sha256Text(e.Files))
		for _, platform := range slices.Sorted(maps.Keys(e.Binaries)) {
			line(platform, sha256Text(e.Binaries[platform]))
		}
		if e.Signer != (PublicKey{}) {
			line(lockSigner, e.Signer.String())
		}
	}
	return []byte(b.String())
}
