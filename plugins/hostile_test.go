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

	"github.com/quoinhq/quoin/plugins/contain"
)

// A plugin decides by itself when it dies and what it says of itself afterwards. It
// gets no name by that which another plugin has.
func TestARestartTakesNoNameOfAnother(t *testing.T) {
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
	dir, key := shortDir(t), testKey(t)
	f := installCopy(t, dir, "fix", "good")
	c, err := ReadContents(f.Dir, f.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(f.Dir, SumsName), string(c.Text()))
	writeFile(t, filepath.Join(f.Dir, SignatureName), string(key.Sign(c.Text()).Text()))
	if err := os.Chmod(filepath.Join(f.Dir, roleFile), 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(f.Dir, ManifestName)
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
	admitted, err := LockGate(dir, []PublicKey{key.Public()})(found)
	var trust *TrustError
	if !errors.As(err, &trust) || trust.What != ManifestName {
		binary, _, started := admitted.startable(shortDir(t))
		t.Fatalf("%v, and then %s is started, %v", err, binary, started)
	}
}

// What other languages make of a secret in JSON, what a header makes of it, and the
// end of a line that is cut off are no ways out.
func TestSecretsInOtherForms(t *testing.T) {
	const secret = "pässwört/s3cret&x9"
	r := newRedactor(map[string]string{"token": secret})
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
		left, _ := base64.StdEncoding.DecodeString(strings.Split(got[at:], redacted)[0])
		if !strings.Contains(got, redacted) || strings.Contains(string(left), "pä") {
			t.Errorf("%s became %s", header, got)
		}
	}

	rec := &recorder{}
	log := newPluginLog(slog.New(rec), "fix", systemClock{}, r)
	log.stderr([]byte(`{"@level":"info","@message":"with p\u00e4ssw\u00f6rt\/s3cret&x9","token":"p\u00e4ssw\u00f6rt\/s3cret&x9"}`), false)
	for n := range len(secret) + 1 {
		line := strings.Repeat("-", 100) + secret[:n]
		log.stderr([]byte(line), true)
		log.stdout([]byte(line), true)
	}
	for _, line := range rec.lines() {
		if strings.Contains(line, "pä") || strings.Contains(line, "s3c") {
			t.Errorf("logged: %s", line)
		}
	}
	if said := log.lastWords(); strings.Contains(said, "pä") {
		t.Errorf("it said last: %s", said)
	}
	if contain.MaxLine <= tailBytes {
		t.Error("the last lines could be cut within a secret")
	}
}
