//go:build linux

package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// installCopy is install with a binary of the plugin's own, so that it can be
// changed, and a manifest that names the role file.
func installCopy(t testing.TB, dir, id, role string) Candidate {
	t.Helper()
	own := filepath.Join(dir, id)
	writeFile(t, filepath.Join(own, manifest.Name),
		fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": %d, "command": "./plugin", "files": [%q]}`, id, protocol.Version, roleFile))
	writeFile(t, filepath.Join(own, roleFile), role)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(own, "plugin")); err != nil {
		t.Fatal(err)
	}
	return Find(own)
}

// lockAll writes a lock with every plugin of a directory as it is.
func lockAll(t testing.TB, dir string) trust.Lock {
	t.Helper()
	found, err := Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	lock := trust.Lock{}
	for _, f := range found {
		if lock[f.ID()], err = f.LockEntry(); err != nil {
			t.Fatal(err)
		}
	}
	if err := trust.WriteLock(dir, lock); err != nil {
		t.Fatal(err)
	}
	return lock
}

// A locked plugin runs from a private copy of what is locked, and of nothing else.
func TestLockedPluginRuns(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	installCopy(t, dir, "fix", "good")
	writeFile(t, filepath.Join(dir, "fix", "stray"), "not named by the manifest")
	lockAll(t, dir)
	s := supervise(t, dir, SupervisorOptions{})
	if st := s.Plugins()[0]; st.State != StateRunning || !st.Pinned {
		t.Fatalf("%v, pinned %v: %s", st.State, st.Pinned, st.Reason)
	}
	result, err := s.CallTool(t.Context(), "fix", call("world", none{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen world
	if err := json.Unmarshal(result, &seen); err != nil {
		t.Fatal(err)
	}
	var folder string
	for _, e := range seen.Env {
		if at, ok := strings.CutPrefix(e, "QUOIN_PLUGIN_DIR="); ok {
			folder = at
		}
	}
	if !strings.HasPrefix(folder, s.run.path) || filepath.Base(folder) != "fix" {
		t.Fatalf("the plugin's folder is %q, not in the run directory", folder)
	}
	if got := strings.Join(entries(t, folder), " "); got != "plugin plugin.json role" {
		t.Errorf("the copy holds %s", got)
	}
}

// Whatever is not as it is locked keeps the plugin from starting, and the reason
// names both sides and the command that accepts it.
func TestLockRefuses(t *testing.T) {
	t.Parallel()
	sum := func(text string) string { return "sha256:" + hexSum([]byte(text)) }
	withVersion := func(version string) string {
		return fmt.Sprintf(`{"id": "fix", "version": %q, "protocol": %d, "command": "./plugin", "files": ["role"]}`, version, protocol.Version)
	}
	tests := []struct {
		name   string
		change func(t *testing.T, dir string, lock trust.Lock)
		parts  []string
	}{
		{"manifest", func(t *testing.T, dir string, _ trust.Lock) {
			writeFile(t, filepath.Join(dir, "fix", manifest.Name), withVersion("1.0.0")+" ")
		}, []string{"plugin.json of plugin fix is " + sum(withVersion("1.0.0")+" "), "quoin.lock says " + sum(withVersion("1.0.0")), "quoin plugin pin fix"}},
		{"version", func(t *testing.T, dir string, _ trust.Lock) {
			writeFile(t, filepath.Join(dir, "fix", manifest.Name), withVersion("2.0.0"))
		}, []string{"the version of plugin fix is 2.0.0", "quoin.lock says 1.0.0", "quoin plugin pin fix"}},
		{"binary", func(t *testing.T, dir string, lock trust.Lock) {
			binary := filepath.Join(dir, "fix", "plugin")
			if err := os.Remove(binary); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(binary, []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"the binary for " + manifest.HostPlatform() + " of plugin fix is " + sum("#!/bin/sh\n"), "quoin.lock says sha256:", "quoin plugin pin fix"}},
		{"another file", func(t *testing.T, dir string, _ trust.Lock) {
			writeFile(t, filepath.Join(dir, "fix", roleFile), "exit")
		}, []string{"the other files", "quoin plugin pin fix", "quoin.lock says sha256:"}},
		{"unlisted", func(t *testing.T, dir string, lock trust.Lock) {
			delete(lock, "fix")
			if err := trust.WriteLock(dir, lock); err != nil {
				t.Fatal(err)
			}
		}, []string{"the binary for " + manifest.HostPlatform() + " of plugin fix is sha256:", "quoin.lock says nothing of it", "quoin plugin pin fix"}},
		{"another platform", func(t *testing.T, dir string, lock trust.Lock) {
			e := lock["fix"]
			e.Binaries = map[string]string{"plan9/mips": sumA}
			lock["fix"] = e
			if err := trust.WriteLock(dir, lock); err != nil {
				t.Fatal(err)
			}
		}, []string{"quoin.lock says nothing of it", manifest.HostPlatform()}},
		{"unreadable lock", func(t *testing.T, dir string, _ trust.Lock) {
			writeFile(t, filepath.Join(dir, trust.LockName), "<<<<<<< HEAD\n")
		}, []string{"quoin.lock line 1", "<<<<<<< HEAD", "no plugin starts", "quoin plugin pin --all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := shortDir(t)
			installCopy(t, dir, "fix", "good")
			tt.change(t, dir, lockAll(t, dir))
			s := supervise(t, dir, SupervisorOptions{})
			st := s.Plugins()[0]
			if st.State != StateDisabled || st.Restarts != 0 {
				t.Fatalf("%v after %d restarts", st.State, st.Restarts)
			}
			wantParts(t, st.Reason, tt.parts...)
		})
	}
}

// The lock is read at every start: also one that comes of a crash.
func TestLockIsReadAtEveryStart(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	installCopy(t, dir, "fix", "good")
	lock := lockAll(t, dir)
	c := newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: c.note, Restart: RestartPolicy{FirstDelay: time.Millisecond}})
	delete(lock, "fix")
	if err := trust.WriteLock(dir, lock); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CallTool(t.Context(), "fix", call("exit", none{}), nil); err == nil {
		t.Error("a process that ended answered")
	}
	wantParts(t, c.await(t, s, "fix", StateDisabled).Reason, "quoin.lock says nothing of it")
}

// What is started is what was hashed, whatever happens to the folder in the meantime.
func TestPinnedCopyIsWhatRuns(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	f := installCopy(t, dir, "fix", "good")
	lock := lockAll(t, dir)
	f, err := LockGate(dir, nil)(f)
	if err != nil {
		t.Fatal(err)
	}
	to := shortDir(t)
	copied, err := f.Pin.CopyPinned(f.Dir, f.Manifest, to)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trust.EntryOf(copied, f.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock["fix"].Compare("fix", got); err != nil {
		t.Errorf("the copy is not what the lock says: %v", err)
	}
	writeFile(t, filepath.Join(dir, "fix", roleFile), "exit")
	var refused *trust.Error
	if _, err := f.Pin.CopyPinned(f.Dir, f.Manifest, shortDir(t)); !errors.As(err, &refused) || refused.Want == refused.Got {
		t.Errorf("a file that changed after the gate: %v", err)
	}
}

// What the manifest says of its binary counts next to the lock: a plugin that was
// locked as it was found still has to be whole.
func TestPinnedCopyMeetsItsManifest(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	f := installCopy(t, dir, "fix", "good")
	lockAll(t, dir)
	f, err := LockGate(dir, nil)(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Manifest.SHA256 = map[string]string{manifest.HostPlatform(): f.Pin.Binary}
	if _, err := f.Pin.CopyPinned(f.Dir, f.Manifest, shortDir(t)); err != nil {
		t.Errorf("with the sum of its binary: %v", err)
	}
	f.Manifest.SHA256[manifest.HostPlatform()] = strings.Repeat("0", 64)
	var wrong *trust.ChecksumError
	if _, err := f.Pin.CopyPinned(f.Dir, f.Manifest, shortDir(t)); !errors.As(err, &wrong) || wrong.Got != f.Pin.Binary {
		t.Errorf("with another sum: %v", err)
	}
}

// With trusted keys, only what one of them has signed starts, with a lock or
// without, and only as it was signed.
func TestTrustedKeys(t *testing.T) {
	t.Parallel()
	mine, other := testKey(t), testKey(t)
	seal := func(t *testing.T, f Candidate, k trust.PrivateKey) {
		c, err := trust.ReadContents(f.Dir, f.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(f.Dir, trust.SumsName), string(c.Text()))
		writeFile(t, filepath.Join(f.Dir, trust.SignatureName), string(k.Sign(c.Text()).Text()))
	}
	tests := []struct {
		name  string
		do    func(t *testing.T, f Candidate)
		parts []string // none: it starts
	}{
		{"signed", func(t *testing.T, f Candidate) { seal(t, f, mine) }, nil},
		{"signed and locked", func(t *testing.T, f Candidate) { seal(t, f, mine); lockAll(t, filepath.Dir(f.Dir)) }, nil},
		{"unsigned", func(*testing.T, Candidate) {}, []string{"the signer of plugin fix is missing", "plugins.trustedKeys says " + mine.Public().String(), "signed by such a key"}},
		{"unsigned but locked", func(t *testing.T, f Candidate) { lockAll(t, filepath.Dir(f.Dir)) }, []string{"the signer of plugin fix is missing"}},
		{"another key", func(t *testing.T, f Candidate) { seal(t, f, other) },
			[]string{"the signer of plugin fix is " + other.Public().String(), "says " + mine.Public().String(), "add it to plugins.trustedKeys"}},
		{"changed since", func(t *testing.T, f Candidate) {
			seal(t, f, mine)
			writeFile(t, filepath.Join(f.Dir, roleFile), "exit")
		},
			[]string{"the other files", "the signed plugin.sum says sha256:", "install the plugin again"}},
		{"changed and pinned", func(t *testing.T, f Candidate) {
			seal(t, f, mine)
			writeFile(t, filepath.Join(f.Dir, roleFile), "exit")
			lockAll(t, filepath.Dir(f.Dir))
		}, []string{"the other files", "the signed plugin.sum says"}},
		{"list changed", func(t *testing.T, f Candidate) {
			seal(t, f, mine)
			writeFile(t, filepath.Join(f.Dir, trust.SumsName), sumA+"  plugin.json\n")
		}, []string{"the signature in plugin.sig", "not of plugin.sum as it is"}},
		{"signature of nothing", func(t *testing.T, f Candidate) {
			seal(t, f, mine)
			if err := os.Remove(filepath.Join(f.Dir, trust.SumsName)); err != nil {
				t.Fatal(err)
			}
		}, []string{"no plugin.sum"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := shortDir(t)
			tt.do(t, installCopy(t, dir, "fix", "good"))
			s := supervise(t, dir, SupervisorOptions{Gate: LockGate(dir, []trust.PublicKey{mine.Public()})})
			st := s.Plugins()[0]
			if want := map[bool]State{true: StateRunning, false: StateDisabled}[tt.parts == nil]; st.State != want {
				t.Fatalf("%v, want %v: %s", st.State, want, st.Reason)
			}
			wantParts(t, st.Reason, tt.parts...)
			if tt.parts == nil && (!st.Pinned || st.Signer != mine.Public()) {
				t.Errorf("pinned %v, signed by %v", st.Pinned, st.Signer)
			}
		})
	}
}
