package plugins

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/quoinhq/quoin/internal/trust"
)

// LockGate returns the gate of a plugin directory: what its quoin.lock does not
// list does not start, and what it lists starts as it is listed. Without that file
// every plugin may start. The file is read at every start, so that a change of it
// counts from the next start on; one that cannot be read keeps every plugin from
// starting, and so does one that was there before and is gone: files are replaced
// in more than one step too, and what happens in between must not be a start of
// everything.
//
// With trusted keys, a plugin starts only if one of them has signed it, whatever
// the lock says, and the signature is of what starts.
func LockGate(dir string, trusted []PublicKey) Gate {
	dir, unknown := filepath.Abs(dir) // the working directory may change
	var seen atomic.Bool
	if _, err := os.Lstat(filepath.Join(dir, trust.LockName)); unknown == nil && err == nil {
		seen.Store(true)
	}
	return func(f Candidate) (Candidate, error) {
		if unknown != nil {
			return f, unknown
		}
		lock, err := trust.ReadLock(dir)
		switch {
		case err != nil:
			return f, err
		case lock != nil:
			seen.Store(true)
		case seen.Load():
			return f, &trust.LockError{Path: filepath.Join(dir, trust.LockName), Problem: "it is gone; to do without it, start the host again"}
		}
		var signed *trust.Pin
		if len(trusted) > 0 {
			if signed, err = trust.SignedPin(f.Dir, f.Manifest, f.ManifestSum, trusted); err != nil {
				return f, err
			}
		}
		if lock == nil {
			f.Pin = signed
			return f, nil
		}
		if f, err = f.PinTo(lock); err != nil {
			return f, err
		}
		if signed != nil {
			// The lock counts at the start; here it has to agree with the signature.
			err = signed.Compare(f.ID(), *f.Pin)
		}
		return f, err
	}
}

// PinTo returns f with the [trust.Pin] that a lock demands of it on this platform. A
// plugin that is not listed, or not of the listed version or manifest, is a
// *[trust.Error]; its other files are compared when it starts.
func (f Candidate) PinTo(l trust.Lock) (Candidate, error) {
	pin, err := l.Pin(f.Dir, f.Manifest, f.ManifestSum)
	if err == nil {
		f.Pin = pin
	}
	return f, err
}

// LockEntry returns what a lock has to say to admit the plugin as its files are now.
func (f Candidate) LockEntry() (trust.LockEntry, error) {
	if f.Err != nil {
		return trust.LockEntry{}, f.Err
	}
	return trust.EntryOf(f.Dir, f.Manifest)
}
