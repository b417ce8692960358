package resourceserver

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestTokens: what a token must be.
func TestTokens(t *testing.T) {
	p := newProvider(t)
	p.extra = []any{
		map[string]any{"kty": "oct", "kid": "shared", "k": base64.RawURLEncoding.EncodeToString([]byte("a secret that is published by mistake"))},
		map[string]any{"kty": "EC", "kid": "encrypts", "use": "enc", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
	}
	key := p.keys["first"]
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	with := func(header map[string]any) string { return p.sign("first", key, p.claims(nil), header) }
	by := func(method jwt.SigningMethod, kid string, key any) string {
		token := jwt.NewWithClaims(method, p.claims(nil))
		token.Header["kid"] = kid
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	good := p.token(nil)
	parts := strings.Split(good, ".")
	tests := map[string]struct {
		token  string
		status int
		words  string
	}{
		"good":                         {good, 200, `{"agentId":"claude","sessionKey":"alice"}`},
		"good, of several audiences":   {p.token(jwt.MapClaims{"aud": []string{"https://a.example", audience}}), 200, "alice"},
		"good, type at+jwt":            {with(map[string]any{"typ": "at+JWT"}), 200, "alice"},
		"good, scopes in scp":          {p.token(jwt.MapClaims{"scope": nil, "scp": []string{"mcp:use"}}), 200, "alice"},
		"good, within the leeway":      {p.token(jwt.MapClaims{"exp": now.Add(-10 * time.Second).Unix()}), 200, "alice"},
		"none":                         {"", 401, "is needed"},
		"another audience":             {p.token(jwt.MapClaims{"aud": "https://other.example.com/mcp"}), 401, "for another audience"},
		"the audience with a slash":    {p.token(jwt.MapClaims{"aud": audience + "/"}), 401, "for another audience"},
		"no audience":                  {p.token(jwt.MapClaims{"aud": nil}), 401, "lacks iss, aud or exp"},
		"audience of a wrong type":     {p.token(jwt.MapClaims{"aud": map[string]any{audience: true}}), 401, ""},
		"another issuer":               {p.token(jwt.MapClaims{"iss": "https://evil.example"}), 401, "of another issuer"},
		"no issuer":                    {p.token(jwt.MapClaims{"iss": nil}), 401, "lacks iss, aud or exp"},
		"expired":                      {p.token(jwt.MapClaims{"exp": now.Add(-time.Minute).Unix()}), 401, "has expired"},
		"no expiry":                    {p.token(jwt.MapClaims{"exp": nil}), 401, "lacks iss, aud or exp"},
		"not valid yet":                {p.token(jwt.MapClaims{"nbf": now.Add(time.Hour).Unix()}), 401, "not valid yet"},
		"alg none":                     {by(jwt.SigningMethodNone, "first", jwt.UnsafeAllowNoneSignatureType), 401, "does not count"},
		"alg none by another name":     {rehead(parts, `{"alg":"nOnE","kid":"first"}`), 401, ""},
		"HS256 with the public key":    {by(jwt.SigningMethodHS256, "first", publicPEM), 401, "does not count"},
		"HS256 with a published key":   {by(jwt.SigningMethodHS256, "shared", []byte("a secret that is published by mistake")), 401, "does not count"},
		"signed with another key":      {by(jwt.SigningMethodES256, "first", newKey(t)), 401, "does not count"},
		"another algorithm":            {by(jwt.SigningMethodRS256, "first", other), 401, "a key that the issuer does not have"},
		"kid of an encryption key":     {by(jwt.SigningMethodES256, "encrypts", key), 401, "a key that the issuer does not have"},
		"kid of nothing":               {by(jwt.SigningMethodES256, "../../etc/passwd", key), 401, "a key that the issuer does not have"},
		"no kid":                       {with(map[string]any{"kid": nil}), 401, "(kid)"},
		"a kid that is no text":        {with(map[string]any{"kid": []string{"first"}}), 401, "(kid)"},
		"its own key":                  {p.sign("first", newKey(t), p.claims(nil), map[string]any{"jwk": map[string]any{"kty": "EC"}}), 401, "does not count"},
		"jku of the attacker":          {p.sign("first", newKey(t), p.claims(nil), map[string]any{"jku": "https://evil.example/keys"}), 401, "does not count"},
		"critical extensions":          {with(map[string]any{"crit": []string{"b64"}}), 401, "(crit)"},
		"a proof":                      {with(map[string]any{"typ": "dpop+jwt"}), 401, "(typ)"},
		"a type that is no text":       {with(map[string]any{"typ": 1}), 401, "(typ)"},
		"bound to a key":               {p.token(jwt.MapClaims{"cnf": map[string]any{"jkt": "x"}}), 401, "(cnf)"},
		"changed claims":               {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root"}`)) + "." + parts[2], 401, "does not count"},
		"no signature":                 {parts[0] + "." + parts[1] + ".", 401, ""},
		"no JWT":                       {"opaque", 401, "not a JWT"},
		"huge":                         {good + strings.Repeat("A", maxToken), 401, "more than"},
		"huge, deep claims":            {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat(`[`, 9000))) + "." + parts[2], 401, "not a JWT"},
		"no scope":                     {p.token(jwt.MapClaims{"scope": nil}), 403, "lacks a scope"},
		"half a scope":                 {p.token(jwt.MapClaims{"scope": "mcp:us mcp:used"}), 403, "lacks a scope"},
		"without a subject":            {p.token(jwt.MapClaims{"sub": nil}), 401, "claim sub"},
		"of an empty name":             {p.token(jwt.MapClaims{"sub": ""}), 401, "claim sub"},
		"of a name that is no text":    {p.token(jwt.MapClaims{"sub": 1}), 401, "claim sub"},
		"of a name that is too long":   {p.token(jwt.MapClaims{"sub": strings.Repeat("a", maxClaim+1)}), 401, "claim sub"},
		"without the agent's claim":    {p.token(jwt.MapClaims{"client_id": nil}), 401, "claim client_id"},
		"expiry that is no number":     {p.token(jwt.MapClaims{"exp": "tomorrow"}), 401, ""},
		"expiry beyond all time":       {rebody(parts, `{"exp":1e308}`), 401, ""},
		"expiry as NaN":                {rebody(parts, `{"exp":NaN}`), 401, "not a JWT"},
		"signature of another's claim": {swapped(p, parts), 401, "does not count"},
	}
	s := start(t, p.settings(), time.Now, time.Nanosecond)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		w := ask(t, s, test.token)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.words) {
			t.Errorf("%s: got %d %s, expected %d %q", name, w.Code, w.Body, test.status, test.words)
		}
		challenge := w.Header().Get("WWW-Authenticate")
		if refused := test.status == 401 || test.status == 403; refused != strings.Contains(challenge, `resource_metadata="https://quoin.example.com/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: the challenge is %q", name, challenge)
		}
		for status, code := range map[int]string{401: `error="invalid_token"`, 403: `error="insufficient_scope"`} {
			if test.status == status && test.token != "" && !strings.Contains(challenge, code) {
				t.Errorf("%s: the challenge %q lacks %s", name, challenge, code)
			}
		}
		if len(parts[1]) > 0 && strings.Contains(w.Body.String()+challenge, parts[1]) {
			t.Errorf("%s: the answer repeats the token", name)
		}
	}
}

// rehead puts another header before the claims and the signature of a token.
func rehead(parts []string, header string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "." + parts[2]
}

// rebody puts other claims between the header and the signature of a token.
func rebody(parts []string, claims string) string {
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." + parts[2]
}

// swapped has the claims of one token and the signature of another.
func swapped(p *provider, parts []string) string {
	bob := strings.Split(p.token(jwt.MapClaims{"sub": "bob"}), ".")
	return bob[0] + "." + bob[1] + "." + parts[2]
}

// TestWhereTokensStand: in one Authorization header, and nowhere else.
func TestWhereTokensStand(t *testing.T) {
	p := newProvider(t)
	s := start(t, p.settings(), time.Now, time.Nanosecond)
	good := p.token(nil)
	for name, test := range map[string]struct {
		change func(r *http.Request)
		status int
	}{
		"lower case":    {func(r *http.Request) { r.Header.Set("Authorization", "bearer "+good) }, 200},
		"twice":         {func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + good, "Bearer x"} }, 401},
		"basic":         {func(r *http.Request) { r.Header.Set("Authorization", "Basic "+good) }, 401},
		"address":       {func(r *http.Request) { r.URL.RawQuery = "access_token=" + good }, 401},
		"form":          {func(r *http.Request) { r.PostForm = map[string][]string{"access_token": {good}} }, 401},
		"nothing at it": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer") }, 401},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		test.change(r)
		if w := send(t, s, r); w.Code != test.status {
			t.Errorf("%s: got %d %s, expected %d", name, w.Code, w.Body, test.status)
		}
	}
}
