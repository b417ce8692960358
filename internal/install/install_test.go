//go:build linux

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/plugins"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// TestMain lets the test binary stand in for plugins.
func TestMain(m *testing.M) {
	if os.Getenv(protocol.CookieKey) != "" {
		servePlugin()
		return
	}
	os.Exit(m.Run())
}

// servePlugin serves a plugin that is what its folder says: its id is the folder's
// name, its version the text of the file "version".
func servePlugin() {
	dir := os.Getenv(protocol.EnvPluginDir)
	version, err := os.ReadFile(filepath.Join(dir, "version"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := sdk.New(sdk.Info{ID: filepath.Base(dir), Version: string(version)}, nil)
	p.OnConfigure(func(_ context.Context, c sdk.Config) error {
		if strings.Contains(string(version), "picky") && len(c.JSON) == 0 {
			return errors.New("the token is missing")
		}
		return nil
	})
	sdk.Serve(p)
}

// source makes the folder of a plugin. The folder's name does not matter.
func source(t testing.TB, id, version string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, manifest.Name),
		fmt.Sprintf(`{"id": %q, "version": %q, "protocol": 2, "command": "./plugin", "files": ["version"]}`, id, version))
	write(t, filepath.Join(dir, "version"), version)
	write(t, filepath.Join(dir, "main.go"), "package main")
	self, err := os.Executable()
	must(t, err)
	// A script, since a test binary is large and is copied and packed often.
	must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte("#!/bin/sh\nexec '"+self+"'\n"), 0o700))
	return dir
}

// packed makes an archive of such a plugin.
func packed(t testing.TB, id, version string, key *trust.PrivateKey) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), id+ArchiveExtension)
	f, err := os.Create(name)
	must(t, err)
	_, err = Pack(f, source(t, id, version), key)
	must(t, errors.Join(err, f.Close()))
	return name
}

func write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func key(t testing.TB) *trust.PrivateKey {
	t.Helper()
	k, err := trust.NewPrivateKey()
	must(t, err)
	return &k
}

// installed installs and requires that it works.
func installed(t testing.TB, from string, o Options) *Outcome {
	t.Helper()
	out, err := Install(t.Context(), from, o)
	must(t, err)
	return out
}

// snapshot is everything in a plugin directory: paths and contents.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(at)
		if filepath.Base(at) == "plugin" {
			b = nil // large, and the lock has its checksum
		}
		out[strings.TrimPrefix(at, dir)] = string(b)
		return err
	}))
	return out
}

// starts requires that a host would start the plugin, with the lock as it is.
func starts(t testing.TB, o Options, id string) {
	t.Helper()
	f, err := plugins.LockGate(o.Dir, o.Trusted)(plugins.Find(filepath.Join(o.Dir, id)))
	must(t, err)
	p, err := plugins.Start(t.Context(), f, plugins.Options{DataDir: t.TempDir(), Config: o.Configs[id]})
	must(t, err)
	must(t, p.Close())
}

// Folders and archives are installed with what belongs to the plugin, locked, and
// startable.
func TestInstall(t *testing.T) {
	k := key(t)
	o := Options{Dir: filepath.Join(t.TempDir(), "plugins"), AllowUnsigned: true}
	out := installed(t, source(t, "alpha", "1.0.0"), o)
	if out.ID != "alpha" || out.Entry.Version != "1.0.0" || out.Before.Version != "" || out.Entry.Signer != (trust.PublicKey{}) {
		t.Errorf("%+v", out)
	}
	if out = installed(t, packed(t, "beta", "2.0.0", k), o); out.Entry.Signer != k.Public() {
		t.Errorf("signed by %v", out.Entry.Signer)
	}
	starts(t, o, "alpha")
	starts(t, o, "beta")
	var names []string
	for name := range snapshot(t, o.Dir) {
		names = append(names, name)
	}
	want := []string{"/.quoin-install", "/quoin.lock", "/alpha/plugin.json", "/alpha/plugin", "/alpha/version",
		"/beta/plugin.json", "/beta/plugin", "/beta/version", "/beta/plugin.sum", "/beta/plugin.sig"}
	if diff := cmp.Diff(sorted(want), sorted(names)); diff != "" {
		t.Error(diff)
	}
	lock, err := trust.ReadLock(o.Dir)
	must(t, err)
	if len(lock) != 2 || !lock["beta"].Equal(out.Entry) {
		t.Errorf("%+v", lock)
	}
}

func sorted(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

// Whatever is refused leaves the directory as it was.
func TestInstallRefuses(t *testing.T) {
	good, other := key(t), key(t)
	tests := []struct {
		name  string
		from  func(t *testing.T) string
		set   func(o *Options)
		parts []string
	}{
		{"taken", func(t *testing.T) string { return source(t, "there", "2.0.0") }, nil, []string{"plugin there is installed already", "quoin plugin upgrade "}},
		{"nowhere", func(*testing.T) string { return "/nowhere" }, nil, []string{"/nowhere"}},
		{"no plugin", func(t *testing.T) string { return t.TempDir() }, nil, []string{"plugin.json"}},
		{"no archive", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "x")
			write(t, name, "text")
			return name
		}, nil, []string{"not an archive", "quoin plugin pack"}},
		{"does not start", func(t *testing.T) string {
			dir := source(t, "new", "1.0.0")
			write(t, filepath.Join(dir, "version"), "3.0.0") // it says another than the manifest
			return dir
		}, nil, []string{"is not installed", `version "3.0.0"`, `"1.0.0"`}},
		{"does not configure", func(t *testing.T) string { return source(t, "new", "1.0.0-picky") }, nil, []string{"is not installed", "the token is missing"}},
		{"a file it needs is not named", func(t *testing.T) string {
			dir := source(t, "new", "1.0.0")
			write(t, filepath.Join(dir, manifest.Name), `{"id": "new", "version": "1.0.0", "protocol": 2, "command": "./plugin"}`)
			return dir
		}, nil, []string{"is not installed", "version: no such file"}},
		{"unsigned", func(t *testing.T) string { return packed(t, "new", "1.0.0", nil) }, func(o *Options) { o.Trusted = []trust.PublicKey{good.Public()} },
			[]string{"the signer of plugin new is missing", good.Public().String()}},
		{"unsigned, and allowed, but there are trusted keys", func(t *testing.T) string { return packed(t, "new", "1.0.0", nil) },
			func(o *Options) { o.Trusted, o.AllowUnsigned = []trust.PublicKey{good.Public()}, true }, []string{"the signer of plugin new is missing"}},
		{"unsigned without trusted keys", func(t *testing.T) string { return packed(t, "new", "1.0.0-picky", nil) }, nil,
			[]string{"the signer of plugin new is missing", "nothing of the archive has been run", "run: quoin plugin install --allow-unsigned "}},
		{"an unknown key without trusted keys", func(t *testing.T) string { return packed(t, "new", "1.0.0-picky", other) }, nil,
			[]string{other.Public().String(), "add it to plugins.trustedKeys", "run: quoin plugin install --allow-unsigned "}},
		{"another signer", func(t *testing.T) string { return packed(t, "new", "1.0.0", other) }, func(o *Options) { o.Trusted = []trust.PublicKey{good.Public()} },
			[]string{other.Public().String(), good.Public().String(), "plugins.trustedKeys"}},
		{"changed after packing", func(t *testing.T) string {
			in := t.TempDir()
			f, err := os.Open(packed(t, "new", "1.0.0", good))
			must(t, err)
			_, err = unpack(f, in)
			must(t, errors.Join(err, f.Close()))
			write(t, filepath.Join(in, "new", "version"), "1.0.0 ")
			return filepath.Join(in, "new")
		}, nil, []string{"version of ", "sha256:", "pack it again"}},
		{"not the one that is locked", func(t *testing.T) string { return source(t, "waited-for", "1.0.1") }, nil,
			[]string{"the version of plugin waited-for is 1.0.1", "quoin.lock says 1.0.0", "quoin plugin remove waited-for"}},
	}
	dir := t.TempDir()
	installed(t, source(t, "there", "1.0.0"), Options{Dir: dir})
	waited := packed(t, "waited-for", "1.0.0", nil)
	installed(t, waited, Options{Dir: dir, AllowUnsigned: true})
	must(t, os.RemoveAll(filepath.Join(dir, "waited-for")))
	before := snapshot(t, dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Dir: dir}
			if tt.set != nil {
				tt.set(&o)
			}
			_, err := Install(t.Context(), tt.from(t), o)
			wantError(t, err, tt.parts...)
			if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
				t.Errorf("the directory has changed: %s", diff)
			}
		})
	}
	// What is locked and missing can be had back: the lock vouches for the archive.
	installed(t, waited, Options{Dir: dir})
	starts(t, Options{Dir: dir}, "waited-for")
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// A plugin is tried with its own configuration.
func TestInstallWithConfiguration(t *testing.T) {
	o := Options{Dir: t.TempDir(), Configs: map[string]json.RawMessage{"picky": []byte(`{"token": "x"}`)}}
	installed(t, source(t, "picky", "1.0.0-picky"), o)
	starts(t, o, "picky")
}

// An upgrade goes forward, to what the same key has signed, unless told otherwise.
func TestUpgrade(t *testing.T) {
	good, other := key(t), key(t)
	tests := []struct {
		name     string
		from, to func(t *testing.T) string
		set      func(o *Options)
		parts    []string // none: it is done
	}{
		{"newer", unsigned("1.9.0"), unsigned("1.10.0"), nil, nil},
		{"older", unsigned("2.0.0"), unsigned("1.0.0"), nil, []string{"version 1.0.0 of plugin alpha is older than the installed 2.0.0", "--any-version"}},
		{"older, and wanted", unsigned("2.0.0"), unsigned("1.0.0"), anyVersion, nil},
		{"unordered", unsigned("2.0.0"), unsigned("nightly"), nil, []string{"2.0.0 and nightly", "cannot be told", "--any-version"}},
		{"unordered builds", unsigned("2.0.0+2"), unsigned("2.0.0+1"), nil, []string{"2.0.0+2 and 2.0.0+1", "cannot be told", "--any-version"}},
		{"unordered spellings", unsigned("2.0.0"), unsigned("v2.0"), nil, []string{"2.0.0 and v2.0", "cannot be told", "--any-version"}},
		{"unordered, and wanted", unsigned("2.0.0"), unsigned("nightly"), anyVersion, nil},
		{"same version, other files", unsigned("1.0.0"), rebuilt("1.0.0"), nil, []string{"version 1.0.0 already, with other files", "--any-version"}},
		{"same version, other files, and wanted", unsigned("1.0.0"), rebuilt("1.0.0"), anyVersion, nil},
		{"same signer", signed("1.0.0", good), signed("1.1.0", good), nil, nil},
		{"newly signed", unsigned("1.0.0"), signed("1.1.0", good), nil,
			[]string{"the signer of plugin alpha is " + good.Public().String(), "plugins.trustedKeys says nothing", "quoin plugin upgrade --allow-unsigned "}},
		{"newly signed, and wanted", unsigned("1.0.0"), signed("1.1.0", good), allowUnsigned, nil},
		{"newly signed by a trusted key", unsigned("1.0.0"), signed("1.1.0", good), func(o *Options) { o.Trusted = []trust.PublicKey{good.Public()} }, nil},
		{"unsigned archive", unsigned("1.0.0"), signed("1.1.0", nil), nil,
			[]string{"the signer of plugin alpha is missing", "nothing of the archive has been run", "quoin plugin upgrade --allow-unsigned "}},
		{"older unsigned archive", unsigned("2.0.0"), signed("1.0.0", nil), allowUnsigned, []string{"run: quoin plugin upgrade --allow-unsigned --any-version "}},
		{"the key of the former, allowed unsigned", signed("1.0.0", good), signed("1.1.0", other), allowUnsigned,
			[]string{"quoin.lock says " + good.Public().String(), "quoin plugin upgrade --allow-unsigned --new-signer "}},
		{"no longer signed", signed("1.0.0", good), unsigned("1.1.0"), nil,
			[]string{"the signer of plugin alpha is missing", "quoin.lock says " + good.Public().String(), "quoin plugin upgrade --new-signer "}},
		{"another signer", signed("1.0.0", good), signed("1.1.0", other), anyVersion,
			[]string{"the signer of plugin alpha is " + other.Public().String(), good.Public().String(), "--new-signer"}},
		{"another signer, and wanted", signed("1.0.0", good), signed("1.1.0", other), func(o *Options) { o.NewSigner = true }, nil},
		{"does not start", unsigned("1.0.0"), unsigned("2.0.0-picky"), nil, []string{"is not installed", "the token is missing"}},
		{"not installed", func(t *testing.T) string { return source(t, "beta", "1.0.0") }, unsigned("2.0.0"), nil, []string{"plugin alpha is not installed", "quoin plugin install "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), AllowUnsigned: true}
			installed(t, tt.from(t), o)
			o.AllowUnsigned = false
			before := snapshot(t, o.Dir)
			if tt.set != nil {
				tt.set(&o)
			}
			out, err := Upgrade(t.Context(), tt.to(t), o)
			if tt.parts != nil {
				wantError(t, err, tt.parts...)
				if diff := cmp.Diff(before, snapshot(t, o.Dir)); diff != "" {
					t.Errorf("the directory has changed: %s", diff)
				}
				return
			}
			must(t, err)
			starts(t, o, "alpha")
			if lock, err := trust.ReadLock(o.Dir); err != nil || !lock["alpha"].Equal(out.Entry) || out.Before.Version == "" || out.Unchanged {
				t.Errorf("%+v, %v, %+v", lock, err, out)
			}
			if m, err := manifest.Read(out.Dir); err != nil || m.Version != out.Entry.Version {
				t.Errorf("in place is %q, %v", m.Version, err)
			}
		})
	}
}

func anyVersion(o *Options) { o.AnyVersion = true }

func allowUnsigned(o *Options) { o.AllowUnsigned = true }

func unsigned(version string) func(t *testing.T) string {
	return func(t *testing.T) string { return source(t, "alpha", version) }
}

func signed(version string, k *trust.PrivateKey) func(t *testing.T) string {
	return func(t *testing.T) string { return packed(t, "alpha", version, k) }
}

// rebuilt is the same version with other files.
func rebuilt(version string) func(t *testing.T) string {
	return func(t *testing.T) string {
		dir := source(t, "alpha", version)
		write(t, filepath.Join(dir, manifest.Name),
			fmt.Sprintf(`{"id": "alpha", "version": %q, "protocol": 2, "command": "./plugin", "files": ["version"], "description": "new"}`, version))
		return dir
	}
}

// What is there already is left alone.
func TestUpgradeToTheSame(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	installed(t, source(t, "alpha", "1.0.0"), o)
	before := snapshot(t, o.Dir)
	out, err := Upgrade(t.Context(), source(t, "alpha", "1.0.0"), o)
	must(t, err)
	if !out.Unchanged {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(before, snapshot(t, o.Dir)); diff != "" {
		t.Error(diff)
	}
}

// The first lock has all that started without one, and nothing that could not.
func TestFirstLock(t *testing.T) {
	for _, way := range []string{"install", "pin one", "pin all"} {
		t.Run(way, func(t *testing.T) {
			o := Options{Dir: t.TempDir()}
			for _, id := range []string{"one", "two"} {
				must(t, os.Rename(source(t, id, "1.0.0"), filepath.Join(o.Dir, id)))
			}
			must(t, os.Mkdir(filepath.Join(o.Dir, "broken"), 0o700))
			write(t, filepath.Join(o.Dir, "broken", manifest.Name), "{")
			var out *Outcome
			switch way {
			case "install":
				out = installed(t, source(t, "three", "1.0.0"), o)
			default:
				ids := []string{"one"}
				if way == "pin all" {
					ids = nil
				}
				outs, err := Pin(ids, o)
				must(t, err)
				out = outs[0]
			}
			if len(out.Left) != 1 || out.Left[0] != "broken" {
				t.Errorf("left out %v", out.Left)
			}
			starts(t, o, "one")
			starts(t, o, "two")
		})
	}
}

// Pin accepts what is there, and only for what it was asked.
func TestPin(t *testing.T) {
	k := key(t)
	o := Options{Dir: t.TempDir(), AllowUnsigned: true}
	installed(t, packed(t, "alpha", "1.0.0", k), o)
	installed(t, source(t, "beta", "1.0.0"), o)
	for _, id := range []string{"alpha", "beta"} {
		write(t, filepath.Join(o.Dir, id, "stray"), "does not matter")
		write(t, filepath.Join(o.Dir, id, manifest.Name),
			fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": 2, "command": "./plugin", "files": ["version"], "description": "mine"}`, id))
		if _, err := plugins.LockGate(o.Dir, nil)(plugins.Find(filepath.Join(o.Dir, id))); err == nil {
			t.Fatalf("a changed %s is started", id)
		}
	}
	outs, err := Pin([]string{"beta"}, o)
	must(t, err)
	if len(outs) != 1 || outs[0].Unchanged || outs[0].Before.Equal(outs[0].Entry) {
		t.Errorf("%+v", outs[0])
	}
	starts(t, o, "beta")
	if outs, err = Pin([]string{"beta"}, o); err != nil || !outs[0].Unchanged {
		t.Errorf("again: %+v, %v", outs, err)
	}
	_, err = Pin([]string{"alpha"}, o)
	wantError(t, err, "the signer of plugin alpha is missing", k.Public().String(), "quoin plugin pin --new-signer alpha")
	o.NewSigner = true
	_, err = Pin([]string{"alpha"}, o)
	must(t, err)
	starts(t, o, "alpha")
	_, err = Pin([]string{"gamma"}, o)
	wantError(t, err, `no plugin "gamma"`, "alpha, beta")
}

// A plugin that serves several platforms with one command is pinned on each of
// them, and what one has pinned the other keeps.
func TestPinKeepsOtherPlatforms(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	installed(t, source(t, "alpha", "1.0.0"), o)
	lock, err := trust.ReadLock(o.Dir)
	must(t, err)
	lock["alpha"].Binaries["plan9/mips"] = strings.Repeat("a", 64)
	must(t, trust.WriteLock(o.Dir, lock))
	outs, err := Pin([]string{"alpha"}, o)
	must(t, err)
	if !outs[0].Unchanged || len(outs[0].Entry.Binaries) != 2 {
		t.Errorf("%+v", outs[0])
	}
}

// What is removed is gone from folder and lock, also if only one of them had it.
func TestRemove(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	for _, id := range []string{"alpha", "beta", "gamma"} {
		installed(t, source(t, id, "1.0.0"), o)
	}
	must(t, os.RemoveAll(filepath.Join(o.Dir, "beta")))
	for _, id := range []string{"alpha", "beta"} {
		out, err := Remove(id, o)
		must(t, err)
		if out.Before.Version != "1.0.0" {
			t.Errorf("%+v", out)
		}
		_, err = Remove(id, o)
		wantError(t, err, "no plugin", "gamma")
	}
	lock, err := trust.ReadLock(o.Dir)
	must(t, err)
	if _, err := os.Stat(filepath.Join(o.Dir, "alpha")); len(lock) != 1 || !os.IsNotExist(err) {
		t.Errorf("%v, %v", lock, err)
	}
	for _, id := range []string{"../alpha", "", ".", "alpha/../gamma"} {
		_, err := Remove(id, o)
		wantError(t, err, "no plugin")
	}
	starts(t, o, "gamma")
}

// A directory that another command changes is left to it.
func TestBusyDirectory(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	installed(t, source(t, "alpha", "1.0.0"), o)
	other := flock.New(filepath.Join(o.Dir, guardName))
	must(t, other.Lock())
	if _, err := Remove("alpha", o); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	must(t, other.Unlock())
	starts(t, o, "alpha")
}

// A lock that cannot be read is not written over.
func TestUnreadableLockStops(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	installed(t, source(t, "alpha", "1.0.0"), o)
	write(t, filepath.Join(o.Dir, trust.LockName), "<<<<<<<\n")
	before := snapshot(t, o.Dir)
	for name, do := range map[string]func() error{
		"install": func() error { _, err := Install(t.Context(), source(t, "beta", "1.0.0"), o); return err },
		"upgrade": func() error { _, err := Upgrade(t.Context(), source(t, "alpha", "2.0.0"), o); return err },
		"pin":     func() error { _, err := Pin(nil, o); return err },
		"remove":  func() error { _, err := Remove("alpha", o); return err },
	} {
		err := do()
		var wrong *trust.LockError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, o.Dir)); diff != "" {
		t.Error(diff)
	}
}

// What a killed command has left is swept by the next one.
func TestLeftOversAreSwept(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	must(t, os.MkdirAll(filepath.Join(o.Dir, stagingPrefix+"1", "alpha"), 0o700))
	installed(t, source(t, "alpha", "1.0.0"), o)
	if left, err := filepath.Glob(filepath.Join(o.Dir, stagingPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A directory is swept by its name, which is no pattern for others.
func TestOnlyTheOwnDirectoryIsSwept(t *testing.T) {
	outer := t.TempDir()
	others := filepath.Join(outer, "a", stagingPrefix+"1")
	must(t, os.MkdirAll(others, 0o700))
	for _, name := range []string{"[ab]", "["} {
		o := Options{Dir: filepath.Join(outer, name)}
		must(t, os.MkdirAll(filepath.Join(o.Dir, stagingPrefix+"1"), 0o700))
		installed(t, source(t, "alpha", "1.0.0"), o)
		if _, err := os.Stat(filepath.Join(o.Dir, stagingPrefix+"1")); !os.IsNotExist(err) {
			t.Errorf("%s is not swept: %v", name, err)
		}
	}
	if _, err := os.Stat(others); err != nil {
		t.Error(err)
	}
}

func TestSwapSlowly(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "a")
	if err := swapSlowly(a, b); err == nil {
		t.Error("swapped with nothing")
	}
	write(t, b, "b")
	must(t, swapSlowly(a, b))
	must(t, os.Remove(a)) // was b
	if text, err := os.ReadFile(b); err != nil || string(text) != "a" {
		t.Errorf("%s, %v", text, err)
	}
	if err := swapSlowly(a, b); err == nil {
		t.Error("nothing was moved into place")
	}
	if text, err := os.ReadFile(b); err != nil || string(text) != "a" {
		t.Errorf("what was there did not come back: %s, %v", text, err)
	}
}
