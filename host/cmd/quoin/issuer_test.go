package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// audience is what the tokens of scripts are for.
const audience = "https://quoin.example.com/mcp"

// cmdIssuer starts an identity provider and puts its address into a variable of its
// name, and tokens of it into NAME_alice, NAME_bob, NAME_noscope, NAME_expired and
// NAME_elsewhere: issuer NAME.
func cmdIssuer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: issuer NAME")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "k", ALG: jwkset.AlgES256, USE: jwkset.UseSig}})
	ts.Check(err)
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		docs := map[string]any{
			"/.well-known/oauth-authorization-server": map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"},
			"/keys": map[string]any{"keys": []any{jwk.Marshal()}},
		}
		if docs[r.URL.Path] == nil {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(docs[r.URL.Path]) // a client that lacks it fails the script
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
	for name, change := range map[string]jwt.MapClaims{
		"alice": {}, "bob": {"sub": "bob"}, "noscope": {"scope": "openid"},
		"expired": {"exp": time.Now().Add(-time.Hour).Unix()}, "elsewhere": {"aud": "https://other.example.com"},
	} {
		claims := jwt.MapClaims{"iss": s.URL, "aud": audience, "sub": "alice", "scope": "mcp:use", "exp": time.Now().Add(time.Hour).Unix()}
		for claim, v := range change {
			claims[claim] = v
		}
		token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
		token.Header["kid"] = "k"
		signed, err := token.SignedString(key)
		ts.Check(err)
		ts.Setenv(args[0]+"_"+name, signed)
	}
}
