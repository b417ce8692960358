//go:build linux

package plugins

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

func given(value string) SecretSource { return func() (string, error) { return value, nil } }

func TestSourcesOfSecrets(t *testing.T) {
	hosttest.Serial(t, "sets a variable of the process")
	t.Setenv("QUOIN_TEST_TOKEN", "from the environment")
	file := filepath.Join(t.TempDir(), "token")
	writeFile(t, file, "from a file\r\n")
	for text, want := range map[string]string{"env:QUOIN_TEST_TOKEN": "from the environment", "file:" + file: "from a file"} {
		source, err := ParseSecretSource(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := source(); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "hunter2", "env:", "env:A B", "file:relative", "file:", "vault:x", "ENV:A"} {
		source, err := ParseSecretSource(text)
		if err == nil || source != nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		wantParts(t, err.Error(), "env:NAME", "file:/path")
		if len(text) > 6 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats what may be a secret: %v", err)
		}
	}
}

func TestSecretsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	m := manifest.Manifest{Protocol: 2}
	for _, tt := range []struct {
		name    string
		sources map[string]SecretSource
		m       manifest.Manifest
		parts   []string
	}{
		{"no variable", map[string]SecretSource{"token": EnvSecret("QUOIN_TEST_ABSENT")}, m, []string{`"token"`, "QUOIN_TEST_ABSENT", "not set"}},
		{"no file", map[string]SecretSource{"token": FileSecret("/nonexistent/token")}, m, []string{`"token"`, "/nonexistent/token"}},
		{"a folder", map[string]SecretSource{"token": FileSecret(t.TempDir())}, m, []string{`"token"`, "not a regular file"}},
		{"too short", map[string]SecretSource{"token": given("abc")}, m, []string{`"token"`, "3 bytes", "at least 4"}},
		{"too long", map[string]SecretSource{"token": given(strings.Repeat("x", maxSecretBytes+1))}, m, []string{`"token"`, "more than"}},
		{"not text", map[string]SecretSource{"token": given("abc\xff")}, m, []string{`"token"`, "UTF-8"}},
		{"a name", map[string]SecretSource{"a b": given("hunter2")}, m, []string{`"a b"`, "a letter"}},
		{"several", map[string]SecretSource{"one": given(""), "two": given("")}, m, []string{`"one"`, `"two"`}},
		{"version 1", map[string]SecretSource{"token": given("hunter2")}, manifest.Manifest{Protocol: 1}, []string{"version 1", `"protocol": 2`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readSecrets(tt.sources, tt.m)
			wantParts(t, fmt.Sprint(err), tt.parts...)
			if strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
	o := testOptions(t)
	o.Secrets = map[string]SecretSource{"token": EnvSecret("QUOIN_TEST_ABSENT")}
	if err := startFails(t, "good", o); !err.Refused {
		t.Errorf("a start without its secret is tried again: %v", err)
	}
}

const token = `s3cr<t"/t&ken`

func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	r := newSecretMask(map[string]string{"token": token, "pin": "48151623", "key": "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----"})
	quoted, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		token, "a " + token + " b", url.QueryEscape(token), url.PathEscape(token), string(quoted), "48151623",
		base64.StdEncoding.EncodeToString([]byte(token)), "MIIEvQIBADANBgkqhkiG9w0",
	} {
		got := r.text(s)
		if !strings.Contains(got, masked) || strings.Contains(got, "s3cr") || strings.Contains(got, "4815") || strings.Contains(got, "MIIE") {
			t.Errorf("%q became %q", s, got)
		}
	}
	for in, want := range map[string]string{
		`{"a":[` + string(quoted) + `,1.50]}`: `{"a":["[secret]",1.50]}`,
		`{` + string(quoted) + `:1}`:          `{"[secret]":1}`,
		`[48151623,148151623.5]`:              `["[secret]","[secret]"]`,
		`{"b":1, "a":2}`:                      `{"b":1, "a":2}`,
	} {
		if got := string(r.value(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	e := r.error(&protocol.Error{Kind: protocol.KindTool, Code: token, Message: "no " + token, Details: quoted})
	if e.Code != masked || e.Message != "no [secret]" || string(e.Details) != `"[secret]"` || e.Kind != protocol.KindTool {
		t.Errorf("%+v", e)
	}
	v := r.verdict(protocol.HookVerdict{Params: quoted, Reason: token, Approval: &protocol.ApprovalRequest{Title: token, Description: token, Subject: token}})
	if b, err := json.Marshal(v); err != nil || strings.Contains(string(b), "s3cr") {
		t.Errorf("%s, %v", b, err)
	}
	if none := newSecretMask(nil); none.text("x") != "x" || string(none.value([]byte(`1`))) != "1" || none.error(e) != e {
		t.Error("a plugin without secrets loses something")
	}
}

// FuzzRedact: what comes out is JSON whenever what went in was, and no text keeps the
// secret.
func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"a":["hunter2",{"hunter2":"xhunter2x"}]}`), "hunter2")
	f.Add([]byte(`[1234,12345.6e7]`), "1234")
	f.Add([]byte(`"a\"b\\c"`), `a"b\c`)
	f.Fuzz(func(t *testing.T, doc []byte, secret string) {
		if checkSecret("token", secret) != nil || strings.Contains(masked, secret) || !json.Valid(doc) {
			return
		}
		r := newSecretMask(map[string]string{"token": secret})
		out := r.value(doc)
		if !json.Valid(out) {
			t.Fatalf("%q became %q", doc, out)
		}
		if !r.found(doc) && !escapes(doc) && string(out) != string(doc) {
			t.Fatalf("%q without a secret became %q", doc, out)
		}
		text := strings.ToValidUTF8(string(doc), "\uFFFD")
		if left := strings.ReplaceAll(r.text(text), masked, "\x00"); strings.Contains(left, secret) {
			t.Fatalf("%q is left in %q", secret, left)
		}
	})
}

func TestASecretReachesThePluginAlone(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Secrets = map[string]SecretSource{"token": given(token)}
	p := startRole(t, "good", o)
	out, err := p.CallTool(t.Context(), call("secret", none{}), nil)
	if err != nil || string(out) != `{"text":"13 bytes, printed as [secret]"}` {
		t.Errorf("%s, %v", out, err)
	}
	_, err = p.CallTool(t.Context(), call("fail-with-secret", none{}), nil)
	wantError(t, err, protocol.KindTool, protocol.CodeToolError, "no [secret]")
	if _, err := p.CallTool(t.Context(), call("die-with-secret", none{}), nil); !errors.Is(err, &protocol.Error{Code: protocol.CodeCrashed}) || strings.Contains(err.Error(), "s3cr") {
		t.Errorf("its last words: %v", err)
	} else {
		wantParts(t, err.Error(), masked)
	}
}
