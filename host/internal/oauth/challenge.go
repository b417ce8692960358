package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The bounds of a challenge.
const (
	maxChallengeBytes = 16 << 10
	maxScopes         = 100
	maxScope          = 256
	maxURL            = 2 << 10
)

// Challenge is what a server says when it refuses a request.
type Challenge struct {
	Metadata string   // the address of its metadata; may be empty
	Scopes   []string // what the request needs; nil if it does not say
	StepUp   bool     // the token is good, its scopes do not suffice
}

// ChallengeOf returns what a server says with any answer.
func ChallengeOf(resp *http.Response) Challenge {
	c, _ := challengeOf(resp)
	return c
}

// challengeOf returns the challenge of a refusal, or false if it is about something else
// than who asks.
func challengeOf(resp *http.Response) (Challenge, bool) {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return Challenge{}, false
	}
	c := parseChallenge(resp.Header.Values("WWW-Authenticate"))
	c.StepUp = c.StepUp && resp.StatusCode == http.StatusForbidden
	return c, c.StepUp || resp.StatusCode == http.StatusUnauthorized
}

// parseChallenge reads what it can of the headers. What makes no sense is left out: the
// well-known addresses stand in for it.
func parseChallenge(headers []string) (c Challenge) {
	size := 0
	for _, h := range headers {
		if size += len(h); size > maxChallengeBytes {
			return c
		}
		list, err := oauthex.ParseWWWAuthenticate([]string{h})
		if err != nil {
			continue
		}
		for _, one := range list {
			if one.Scheme != "bearer" {
				continue
			}
			if m := one.Params["resource_metadata"]; c.Metadata == "" && len(m) <= maxURL {
				c.Metadata = m
			}
			if c.Scopes == nil {
				c.Scopes = scopesOf(one.Params["scope"])
			}
			c.StepUp = c.StepUp || one.Params["error"] == "insufficient_scope"
		}
	}
	return c
}

// scopesOf splits a list of scopes; what is not a scope is left out.
func scopesOf(list string) []string { return usableScopes(strings.Fields(list)) }

func usableScopes(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) < maxScopes && isScope(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// isScope reports whether s is a scope-token of RFC 6749.
func isScope(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || b == '"' || b == '\\' {
			return false
		}
	}
	return s != "" && len(s) <= maxScope
}

// union returns the scopes of all lists, in order, each once.
func union(lists ...[]string) []string { return usableScopes(slices.Concat(lists...)) }

// includes reports whether all of some are in all.
func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
