package resourceserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/quoinhq/quoin/host/codemode"
)

const (
	maxToken = 16 << 10 // bytes of one token
	maxClaim = 512      // bytes of a claim that names a session
	leeway   = 30 * time.Second
)

// algorithms are those that a token may be signed with: all asymmetric, so that who
// knows the issuer's public keys cannot sign.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// types are the values that a token's typ may have, in lower case. Others are tokens
// for another purpose.
var types = []string{"", "jwt", "application/jwt", "at+jwt", "application/at+jwt"}

// errScope says that a token lacks a scope.
var errScope = errors.New("the token lacks a scope")

// tokens checks tokens against a configuration.
type tokens struct {
	config Config
	parser *jwt.Parser
	keys   *keySource
}

func newTokens(c Config, keys *keySource) *tokens {
	return &tokens{config: c, keys: keys, parser: jwt.NewParser(
		jwt.WithValidMethods(algorithms), jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(keys.clock),
	)}
}

// caller checks a token and returns for whom it is. It fails with errUnavailable,
// errScope, or what is wrong with the token in words that hold nothing of it.
func (t *tokens) caller(ctx context.Context, token string) (codemode.Session, error) {
	if len(token) > maxToken {
		return codemode.Session{}, fmt.Errorf("the token has more than %d bytes", maxToken)
	}
	claims := jwt.MapClaims{}
	_, err := t.parser.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		if err := checkHeader(token.Header); err != nil {
			return nil, err
		}
		return t.keys.find(ctx, token)
	})
	if err != nil {
		return codemode.Session{}, inWords(err)
	}
	if _, bound := claims["cnf"]; bound {
		return codemode.Session{}, errors.New("the token is bound to a key of its client (cnf), which this server cannot check")
	}
	if !hasScopes(claims, t.config.Scopes) {
		return codemode.Session{}, errScope
	}
	return sessionOf(claims, t.config.Claims)
}

// checkHeader refuses what the library does not look at.
func checkHeader(header map[string]any) error {
	if _, critical := header["crit"]; critical {
		return headerError("the token has critical extensions (crit), which this server does not know")
	}
	typ, _ := header["typ"].(string)
	if _, given := header["typ"]; given && typ == "" || !slices.Contains(types, strings.ToLower(typ)) {
		return headerError("the token is of another type (typ) than an access token")
	}
	if kid, _ := header["kid"].(string); kid == "" {
		return headerError("the token does not say which key it is signed with (kid)")
	}
	return nil
}

// headerError is what is wrong with the header of a token.
type headerError string

func (e headerError) Error() string { return string(e) }

// inWords says what is wrong with a token, without anything of the token. Errors of
// the library may quote it.
func inWords(err error) error {
	var header headerError
	if errors.As(err, &header) {
		return header
	}
	for _, known := range []struct {
		is    error
		words string
	}{
		{errUnavailable, ""},
		{jwt.ErrTokenMalformed, "the token is not a JWT"},
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenInvalidIssuer, "the token is of another issuer"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks iss, aud or exp"},
		{jwt.ErrTokenUnverifiable, "the token is signed with a key that the issuer does not have"},
		{jwt.ErrTokenSignatureInvalid, "the token's signature or its algorithm does not count"},
	} {
		if errors.Is(err, known.is) {
			if known.words == "" {
				return known.is
			}
			return errors.New(known.words)
		}
	}
	return errors.New("the token does not count")
}

// hasScopes reports whether the claims have all scopes: in scope, as RFC 9068 has
// it, or in scp, as some providers do.
func hasScopes(claims jwt.MapClaims, wanted []string) bool {
	var given []string
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case string:
			given = append(given, strings.Fields(v)...)
		case []any:
			for _, e := range v {
				if s, ok := e.(string); ok {
					given = append(given, s)
				}
			}
		}
	}
	return !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(given, s) })
}

// sessionOf makes the session that the claims name.
func sessionOf(claims jwt.MapClaims, names Claims) (codemode.Session, error) {
	var s codemode.Session
	for _, f := range []struct {
		claim string
		field *string
	}{{names.AgentID, &s.AgentID}, {names.SessionKey, &s.SessionKey}, {names.SessionID, &s.SessionID}} {
		if f.claim == "" {
			continue
		}
		v, _ := claims[f.claim].(string)
		if v == "" || len(v) > maxClaim || !utf8.ValidString(v) {
			return codemode.Session{}, fmt.Errorf("the token's claim %s says nothing of who asks: expected a text of 1 to %d bytes", f.claim, maxClaim)
		}
		*f.field = v
	}
	return s, nil
}
