//go:build linux

package plugins

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// A plugin decides by itself when it dies and what it says of itself afterwards. It
// gets no name by that which another plugin has.
func TestARestartTakesNoNameOfAnother(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen one")
	install(t, dir, "beta", "good") // has the global Fixture
	rec, ch := &recorder{}, newChanges()
	s := supervise(t, dir, SupervisorOptions{Logger: slog.New(rec), OnChange: ch.note})
	become(t, dir, "alpha", "good") // which has it too
	if _, err := s.CallTool(t.Context(), "alpha", call("exit", none{}), nil); err == nil {
		t.Fatal("exit returned a result")
	}
	ch.await(t, s, "alpha", StateRestarting)
	for statusOf(t, s, "alpha").State == StateRestarting {
		<-ch.c
	}
	if st := statusOf(t, s, "alpha"); st.State != StateDisabled || st.PID != "" {
		t.Errorf("%+v", st)
	} else {
		wantParts(t, st.Reason, "Fixture", `"beta"`)
	}
	for _, r := range s.Registrations() {
		if r.PluginID != "beta" {
			t.Errorf("%s has the namespace %s, global %s", r.PluginID, r.ID, r.GlobalName)
		}
	}
	become(t, dir, "alpha", "gen two")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "two" {
		t.Errorf("after a reload it says %q", got)
	}
}

// An id leads to no folder but one of the plugin directory that Discover looks at.
func TestAReloadStaysInThePluginDirectory(t *testing.T) {
	t.Parallel()
	outer := shortDir(t)
	dir := filepath.Join(outer, "plugins")
	install(t, dir, "alpha", "gen one")
	install(t, outer, "beta", "gen two")
	install(t, filepath.Join(dir, ".staging-1"), "gamma", "gen three")
	install(t, dir, ".delta", "gen four")
	s := supervise(t, dir, SupervisorOptions{})
	for _, id := range []string{"../beta", "alpha/../../beta", ".staging-1/gamma", ".delta", "..", ".", "", "/", "alpha/", filepath.Join(outer, "beta")} {
		if err := s.Reload(t.Context(), id); err == nil {
			t.Errorf("Reload(%q) did something", id)
		}
		if len(s.Plugins()) != 1 {
			t.Fatalf("after Reload(%q) there are %+v", id, s.Plugins())
		}
	}
}

// A manifest that is there while the gate looks, and gone when the files are copied,
// does not choose another of the signed files as the binary.
func TestASignatureIsOfTheManifestThatCounts(t *testing.T) {
	t.Parallel()
	dir, key := shortDir(t), testKey(t)
	f := installCopy(t, dir, "fix", "good")
	c, err := trust.ReadContents(f.Dir, f.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(f.Dir, trust.SumsName), string(c.Text()))
	writeFile(t, filepath.Join(f.Dir, trust.SignatureName), string(key.Sign(c.Text()).Text()))
	if err := os.Chmod(filepath.Join(f.Dir, roleFile), 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(f.Dir, manifest.Name)
	signed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, fmt.Sprintf(`{"id": "fix", "version": "1.0.0", "protocol": 2, "command": %q, "files": ["plugin"]}`, roleFile))
	found := Find(f.Dir)
	writeFile(t, name, string(signed))
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	admitted, err := LockGate(dir, []trust.PublicKey{key.Public()})(found)
	var trust *trust.Error
	if !errors.As(err, &trust) || trust.What != manifest.Name {
		binary, _, started := admitted.startable(shortDir(t))
		t.Fatalf("%v, and then %s is started, %v", err, binary, started)
	}
}

// What other languages make of a secret in JSON, what a header makes of it, and the
// end of a line that is cut off are no ways out.
func TestSecretsInOtherForms(t *testing.T) {
	t.Parallel()
	const secret = "pässwört/s3cret&x9"
	r := newSecretMask(map[string]string{"token": secret})
	for _, form := range []string{
		"p\\u00e4ssw\\u00f6rt/s3cret&x9",         // Python
		"p\\u00E4ssw\\u00F6rt\\/s3cret\\u0026x9", // PHP
		"pässwört/s3cret\\u0026x9",               // Java
	} {
		for in, want := range map[string]string{
			`{"a":["` + form + `",1.50]}`: `{"a":["[secret]",1.50]}`,
			`{"x` + form + `":1}`:         `{"x[secret]":1}`,
		} {
			if got := string(r.value(json.RawMessage(in))); got != want {
				t.Errorf("%s became %s, want %s", in, got, want)
			}
		}
	}
	for _, in := range []string{`{"b":1, "a":"\u00e4\/"}`, `{"a":"\\u0070"}`} {
		if got := string(r.value(json.RawMessage(in))); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
	for _, user := range []string{"", "a", "ab", "abc", "service-account"} {
		header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret))
		got := r.text(header)
		at := strings.LastIndex(got, " ") + 1
		left, _ := base64.StdEncoding.DecodeString(strings.Split(got[at:], masked)[0])
		if !strings.Contains(got, masked) || strings.Contains(string(left), "pä") {
			t.Errorf("%s became %s", header, got)
		}
	}

	rec := &recorder{}
	log := newPluginLog(slog.New(rec), "fix", systemClock{}, r)
	log.Stderr([]byte(`{"@level":"info","@message":"with p\u00e4ssw\u00f6rt\/s3cret&x9","token":"p\u00e4ssw\u00f6rt\/s3cret&x9"}`), false)
	for n := range len(secret) + 1 {
		line := strings.Repeat("-", 100) + secret[:n]
		log.Stderr([]byte(line), true)
		log.Stdout([]byte(line), true)
	}
	for _, line := range rec.lines() {
		if strings.Contains(line, "pä") || strings.Contains(line, "s3c") {
			t.Errorf("logged: %s", line)
		}
	}
	if said := log.lastOutput(); strings.Contains(said, "pä") {
		t.Errorf("it said last: %s", said)
	}
	if childprocess.MaxLine <= childprocess.MaxTailLine {
		t.Error("the last lines could be cut within a secret")
	}
}

// Numbers that the validator cannot hold are refused, wherever they come from: a
// manifest, a plugin's description, or the input of a program.
func TestSchemasDoNotEndTheHost(t *testing.T) {
	t.Parallel()
	hostile := json.RawMessage(`{"type":"object","properties":{"n":{"multipleOf":1e-999999999}}}`)
	if _, err := manifest.Parse(fmt.Appendf(nil, `{"id":"a","version":"1","protocol":2,"command":"./a","configSchema":%s}`, hostile)); err == nil {
		t.Error("the manifest is accepted")
	}
	d := newRaw("fix", rawTool("a")).desc
	d.Tools[0].Parameters = hostile
	if err := checkDescription(manifest.Manifest{ID: d.ID, Version: d.Version}, &d); err == nil {
		t.Error("the description is accepted")
	}
	for _, schema := range []string{`{"type":"object","properties":{"n":{"multipleOf":2}}}`, `{"type":"object","properties":{"n":{"minimum":2}}}`, `{"type":"object","properties":{"n":{"type":"integer"}}}`} {
		for _, n := range []string{"1e-999999999", "1e999999999", "1e999999", strings.Repeat("9", 1<<20)} {
			if err := manifest.ValidateJSON(json.RawMessage(schema), json.RawMessage(`{"n":`+n+`}`)); err == nil {
				t.Errorf("%.40s fits %s", n, schema)
			}
		}
	}
}

// A lock that goes away, for a moment or for good, and a working directory that
// changes, do not open the gate.
func TestALockIsNotForgotten(t *testing.T) {
	hosttest.Serial(t, "changes the working directory")
	dir := shortDir(t)
	f := installCopy(t, dir, "fix", "good")
	gone := func(gate Gate, when string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, trust.LockName)); err != nil {
			t.Fatal(err)
		}
		var wrong *trust.LockError
		if _, err := gate(f); !errors.As(err, &wrong) {
			t.Errorf("a lock that was there %s is gone: %v", when, err)
		} else {
			wantParts(t, err.Error(), trust.LockName, "gone", "restored")
		}
	}
	gate := LockGate(dir, nil)
	if got, err := gate(f); err != nil || got.Pin != nil {
		t.Fatalf("without a lock: %v, %v", got.Pin, err)
	}
	lockAll(t, dir)
	if _, err := gate(f); err != nil {
		t.Fatal(err)
	}
	gone(gate, "at a start")
	lockAll(t, dir)
	if got, err := gate(f); err != nil || got.Pin == nil {
		t.Errorf("the lock is back: %v, %v", got.Pin, err)
	}
	gone(LockGate(dir, nil), "from the beginning")

	if err := trust.WriteLock(dir, trust.Lock{}); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	gate = LockGate(filepath.Base(dir), nil)
	t.Chdir(t.TempDir())
	var trust *trust.Error
	if _, err := gate(f); !errors.As(err, &trust) {
		t.Errorf("in another working directory: %v", err)
	}
}
