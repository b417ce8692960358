package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/redact"
)

// TestJSON is the table of what is hidden and what is not.
func TestJSON(t *testing.T) {
	for _, c := range []struct{ name, doc, schema, want string }{
		{"nothing to hide", `{"title":"x","n":1.50,"ok":true,"none":null}`, "", `{"n":1.50,"none":null,"ok":true,"title":"x"}`},
		{"password", `{"password":"hunter2"}`, "", `{"password":"[redacted]"}`},
		{"inside a longer name", `{"dbPassword":"x","old_password_2":"y"}`, "", `{"dbPassword":"[redacted]","old_password_2":"[redacted]"}`},
		{"a number too", `{"pin":1234,"passcode":99}`, "", `{"passcode":"[redacted]","pin":"[redacted]"}`},
		{"an object and a list whole", `{"credentials":{"user":"u"},"secrets":["a"]}`, "", `{"credentials":"[redacted]","secrets":"[redacted]"}`},
		{"flags and null tell nothing", `{"password":null,"token":true}`, "", `{"password":null,"token":true}`},
		{"keys in every spelling", `{"apiKey":"a","api_key":"b","API-KEY":"c","apikey":"d","APIKey":"e"}`, "",
			`{"API-KEY":"[redacted]","APIKey":"[redacted]","api_key":"[redacted]","apiKey":"[redacted]","apikey":"[redacted]"}`},
		{"other keys are no secrets", `{"key":"ENG-1","sortKey":"date","keyboard":"de"}`, "", `{"key":"ENG-1","keyboard":"de","sortKey":"date"}`},
		{"private keys", `{"privateKey":"x","signing_key":"y","sshKey":"z"}`, "", `{"privateKey":"[redacted]","signing_key":"[redacted]","sshKey":"[redacted]"}`},
		{"tokens", `{"token":"t","accessToken":"t","refresh_token":"t","csrf-token":"t"}`, "",
			`{"accessToken":"[redacted]","csrf-token":"[redacted]","refresh_token":"[redacted]","token":"[redacted]"}`},
		{"counts of tokens", `{"maxTokens":100,"tokens":3,"tokenizer":"bpe","tokens_used":7}`, "", `{"maxTokens":100,"tokenizer":"bpe","tokens":3,"tokens_used":7}`},
		{"lists of tokens", `{"tokens":["a","b"]}`, "", `{"tokens":"[redacted]"}`},
		{"headers", `{"Authorization":"Basic abc","Cookie":"sid=1","Set-Cookie":"sid=2","Accept":"*/*"}`, "",
			`{"Accept":"*/*","Authorization":"[redacted]","Cookie":"[redacted]","Set-Cookie":"[redacted]"}`},
		{"a list of headers", `[{"name":"Authorization","value":"x"},{"name":"Accept","value":"y"}]`, "",
			`[{"name":"Authorization","value":"[redacted]"},{"name":"Accept","value":"y"}]`},
		{"whole names only", `{"pass":"x","auth":"y","passing":"z","author":"me","pinned":"p"}`, "",
			`{"auth":"[redacted]","author":"me","pass":"[redacted]","passing":"z","pinned":"p"}`},
		{"deep down", `{"a":[{"b":{"secret":"x","c":1}}]}`, "", `{"a":[{"b":{"c":1,"secret":"[redacted]"}}]}`},
		{"JSON in a string", `{"arguments":"{\"password\":\"x\",\"n\":1}"}`, "", `{"arguments":"{\"n\":1,\"password\":\"[redacted]\"}"}`},

		{"format password", `{"code":"x","n":1}`, `{"properties":{"code":{"type":"string","format":"password"}}}`, `{"code":"[redacted]","n":1}`},
		{"writeOnly", `{"code":{"a":1},"n":1}`, `{"properties":{"code":{"writeOnly":true}}}`, `{"code":"[redacted]","n":1}`},
		{"a flag that is writeOnly", `{"code":true}`, `{"properties":{"code":{"writeOnly":true}}}`, `{"code":"[redacted]"}`},
		{"the whole document", `{"a":1}`, `{"writeOnly":true}`, `"[redacted]"`},
		{"through a reference", `{"a":{"b":"x"}}`, `{"$defs":{"s":{"properties":{"b":{"format":"password"}}}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":{"b":"[redacted]"}}`},
		{"through a combination", `{"a":"x"}`, `{"anyOf":[{"properties":{"b":{}}},{"allOf":[{"properties":{"a":{"writeOnly":true}}}]}]}`, `{"a":"[redacted]"}`},
		{"items", `["x","y"]`, `{"items":{"format":"password"}}`, `["[redacted]","[redacted]"]`},
		{"items by position", `["x","y","z"]`, `{"prefixItems":[{},{"format":"password"}]}`, `["x","[redacted]","z"]`},
		{"additional properties", `{"known":"a","other":"b"}`, `{"properties":{"known":{}},"additionalProperties":{"writeOnly":true}}`, `{"known":"a","other":"[redacted]"}`},
		{"properties by pattern", `{"x_1":"a","y":"b"}`, `{"patternProperties":{"^x_":{"writeOnly":true}}}`, `{"x_1":"[redacted]","y":"b"}`},
		{"a pattern Go cannot read", `{"a":"b"}`, `{"patternProperties":{"(?<!y)x":{"writeOnly":true}}}`, `{"a":"[redacted]"}`},
		{"a schema without end", `{"a":{"a":"x"},"b":1}`, `{"$defs":{"r":{"anyOf":[{"$ref":"#/$defs/r"},{"$ref":"#/$defs/r"}]}},"properties":{"a":{"$ref":"#/$defs/r"}}}`, `{"a":"[redacted]","b":1}`},
		{"a schema of itself", `{"next":{"next":{"code":"x"}}}`, `{"properties":{"next":{"$ref":"#"},"code":{"writeOnly":true}}}`, `{"next":{"next":{"code":"[redacted]"}}}`},
		{"a schema that is not one", `{"a":"x"}`, `{"properties":7}`, `{"a":"x"}`},

		{"credentials in text", `{"log":"used Bearer abcdefgh12345678 twice"}`, "", `{"log":"used Bearer [redacted] twice"}`},
		{"not JSON", `{"password":`, "", `"[not JSON: 12 bytes]"`},
		{"two documents", `1 {"password":"x"}`, "", `"[not JSON: 18 bytes]"`},
		{"nothing", ``, "", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(redact.Redactor{Keys: []string{"vault-id"}}.JSON(json.RawMessage(c.doc), json.RawMessage(c.schema)))
			if !sameJSON(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// sameJSON compares documents whatever the order of their properties.
func sameJSON(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	norm := func(s string) string {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return err.Error() + s
		}
		out, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	return norm(a) == norm(b)
}

// TestJSONInsideJSON: strings of JSON are followed as deep as they are looked at,
// and what is deeper is left out.
func TestJSONInsideJSON(t *testing.T) {
	doc, want := `{"n":1,"password":"hunter2"}`, `{"n":1,"password":"[redacted]"}`
	for depth := 1; depth <= 4; depth++ {
		doc, want = wrapped(t, doc), wrapped(t, want)
		if got := string(redact.Redactor{}.JSON(json.RawMessage(doc), nil)); got != want {
			t.Errorf("%d deep: got %s\nwant %s", depth, got, want)
		}
	}
	for _, doc := range []string{wrapped(t, doc), wrapped(t, wrapped(t, doc))} {
		if got := string(redact.Redactor{}.JSON(json.RawMessage(doc), nil)); strings.Contains(got, "hunter2") || !strings.Contains(got, "bytes of JSON omitted") {
			t.Errorf("deeper than that: %s", got)
		}
	}
}

// wrapped is an object with the document as a string.
func wrapped(t *testing.T, doc string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"said": doc})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMoreKeys(t *testing.T) {
	got := string(redact.Redactor{Keys: []string{"vault-id"}}.JSON(json.RawMessage(`{"vaultId":"x","vault":"y"}`), nil))
	if want := `{"vault":"y","vaultId":"[redacted]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestText is the table of credentials that are known by their shape.
func TestText(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	for in, want := range map[string]string{
		"nothing to see":                     "nothing to see",
		"Authorization: Bearer abcdef123456": "Authorization: Bearer [redacted]",
		"basic dXNlcjpwYXNz":                 "basic [redacted]",
		"see " + jwt + " there":              "see [redacted] there",
		"key sk-proj-abcdefghijklmnop1234":   "key [redacted]",
		"ghp_abcdefghijklmnop1234":           "[redacted]",
		"xoxb-1234567890-abc":                "[redacted]",
		"AKIAIOSFODNN7EXAMPLE":               "[redacted]",
		"postgres://app:hunter2@db/x":        "postgres://app:[redacted]@db/x",
		"https://example.com/a:b@c":          "https://example.com/a:b@c",
		`const apiKey = "abc123"; f()`:       `const apiKey = "[redacted]"; f()`,
		"password=hunter2&x=1":               "password=[redacted]&x=1",
		"token: " + jwt:                      "token: [redacted]",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nafter": "-----BEGIN RSA PRIVATE KEY-----[redacted]\nafter",
		"-----BEGIN PRIVATE KEY-----\ncut off":                                       "-----BEGIN PRIVATE KEY-----[redacted]",
		"maxTokens = 500":                                                            "maxTokens = 500",
		"a\xffb":                                                                     "a\uFFFDb",
	} {
		if got := (redact.Redactor{}).Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestCaps keeps what fits and says how much is missing.
func TestCaps(t *testing.T) {
	r := redact.Redactor{MaxBytes: 200}
	doc := json.RawMessage(fmt.Sprintf(`{"password":"x","text":%q}`, strings.Repeat("é", 500)))
	got := r.JSON(doc, nil)
	var m struct {
		Truncated    bool
		OmittedBytes int
		Prefix       string
	}
	if err := json.Unmarshal(got, &m); err != nil || len(got) > 200 || !m.Truncated || !strings.HasPrefix(m.Prefix, `{"password":"[redacted]","text":"é`) {
		t.Fatalf("%d bytes: %s %v", len(got), got, err)
	}
	whole := len(redact.Redactor{MaxBytes: 1 << 20}.JSON(doc, nil))
	if m.OmittedBytes+len(m.Prefix) != whole {
		t.Errorf("%d omitted and %d kept, want %d together", m.OmittedBytes, len(m.Prefix), whole)
	}
	if got := string(redact.Redactor{MaxBytes: 3}.Text("ééé")); got != "é [4 bytes omitted]" {
		t.Errorf("got %q", got)
	}
	huge := json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)
	if got := string((redact.Redactor{}).JSON(huge, nil)); got != fmt.Sprintf(`{"truncated":true,"omittedBytes":%d}`, len(huge)) {
		t.Errorf("got %s", got)
	}
}

// FuzzJSON gives it documents and schemas of any kind. What was hidden by name
// must not come out, and what comes out must be JSON of the size asked for.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"{\"password\":\"x\"}"]}`), []byte(`{"properties":{"a":{"$ref":"#/properties/a"}}}`))
	f.Add([]byte(`[[[]]]`), []byte(`{"items":{"$ref":"#"}}`))
	f.Fuzz(func(t *testing.T, doc, schema []byte) {
		const hidden = "S3CR3T-VALUE"
		r := redact.Redactor{MaxBytes: 500}
		wrapped := append(append([]byte(`{"password":"`+hidden+`","doc":`), doc...), '}')
		for _, d := range [][]byte{doc, wrapped} {
			out := r.JSON(d, schema)
			if len(d) > 0 && !json.Valid(out) || len(out) > 500 {
				t.Fatalf("%q is not JSON of at most 500 bytes", out)
			}
			if !strings.Contains(string(doc), hidden) && strings.Contains(string(out), hidden) {
				t.Fatalf("the secret came out: %q", out)
			}
		}
	})
}

// TestShortNamesInPrograms: what programs and command lines call their secrets.
func TestShortNamesInPrograms(t *testing.T) {
	for _, text := range []string{
		`const pwd = "hunter2"`, `secret_key: "hunter2"`, `auth = 'hunter2'`, `cookie="hunter2"`, `bearer: hunter2`, `credentials = hunter2`,
		`pin=hunter2`, `otp: "hunter2"`, `DB_PASS=hunter2 run`, `session = "hunter2"`, `mysql -u root -phunter2 db`,
		`aws_key = "hunter2hunter2hunter2hunter2hunter2abcde"`,
	} {
		if got := (redact.Redactor{}).Text(text); strings.Contains(got, "hunter2") || !strings.Contains(got, redact.Mask) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for doc, want := range map[string]string{
		`[["password","x"],["title","y"]]`: `[["password","[redacted]"],["title","y"]]`,
		`{"session":"x","sessionId":"y"}`:  `{"session":"[redacted]","sessionId":"[redacted]"}`,
	} {
		if got := string((redact.Redactor{}).JSON(json.RawMessage(doc), nil)); got != want {
			t.Errorf("%s becomes %s, want %s", doc, got, want)
		}
	}
}
