package resourceserver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
)

// Config says which issuer's tokens count, and for which resource.
type Config struct {
	// Issuer is the identity provider, to the letter of the claim iss.
	Issuer string
	// Audience is what the claim aud must name: the address of the endpoint as its
	// clients know it, or the identifier that the provider has for it.
	Audience string
	// Resource is the address of the endpoint. Empty means Audience.
	Resource string
	// JWKSURL is where the issuer's keys are. Empty means that the issuer's metadata
	// says so.
	JWKSURL string
	// Scopes are those that a token must have, all of them.
	Scopes []string
	// Claims say who asks.
	Claims Claims
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
}

// Claims are the names of the claims that fill a session. A claim that is named must
// be in every token.
type Claims struct {
	AgentID    string // empty: sessions are of no agent
	SessionKey string // empty: sub, unless SessionID is given
	SessionID  string // empty: sessions have no id
}

// A ConfigError says what is wrong with a field of a Config.
type ConfigError struct {
	Field string // as in a configuration file, such as "jwksUrl"
	Text  string
}

func (e *ConfigError) Error() string { return e.Field + " " + e.Text }

// filled checks the configuration and returns it with its defaults.
func (c Config) filled() (Config, error) {
	c.Resource = cmp.Or(c.Resource, c.Audience)
	if c.Claims.SessionID == "" {
		c.Claims.SessionKey = cmp.Or(c.Claims.SessionKey, "sub")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if err := checkURL(c.Issuer); err != nil {
		return c, &ConfigError{"issuer", err.Error()}
	}
	if c.Audience == "" {
		return c, &ConfigError{"audience", "is missing: without it, tokens for other services would count"}
	}
	if err := checkURL(c.Resource); err != nil {
		return c, &ConfigError{"resource", err.Error() + "; it may be left out if the audience is one"}
	}
	if c.JWKSURL != "" {
		if err := checkURL(c.JWKSURL); err != nil {
			return c, &ConfigError{"jwksUrl", err.Error()}
		}
	}
	for _, scope := range c.Scopes {
		if !isScope(scope) {
			return c, &ConfigError{"scopes", fmt.Sprintf("has %q, expected visible ASCII characters without quotes and backslashes", scope)}
		}
	}
	return c, nil
}

// Check says what is wrong with a configuration: a *ConfigError, or nil.
func Check(c Config) error {
	_, err := c.filled()
	return err
}

// checkURL wants an address with answers that no one on the way can change.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.Fragment != "", u.RawQuery != "":
		return fmt.Errorf("is %q, expected an https address", text)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("is %q, expected an https address; http is for loopback alone", text)
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// isScope reports whether a text is one scope, as RFC 6749 has them.
func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// errUnavailable says that a token could not be checked.
var errUnavailable = errors.New("the keys of the issuer cannot be had now")
