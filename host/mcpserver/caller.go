package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
)

// callerKey is the context key of the session that a request acts for.
type callerKey struct{}

func withCaller(ctx context.Context, s host.Session) context.Context {
	return context.WithValue(ctx, callerKey{}, s)
}

// callerOf returns the session that a request acts for: the session of the HTTP request it
// came with, else the session of its stream.
func callerOf(ctx context.Context, extra *mcp.RequestExtra) host.Session {
	if extra != nil && extra.TokenInfo != nil {
		if s, ok := extra.TokenInfo.Extra[callerExtra].(host.Session); ok {
			return s
		}
	}
	s, _ := ctx.Value(callerKey{}).(host.Session)
	return s
}

// overStreams reports whether a request came over the streams of Serve.
func overStreams(extra *mcp.RequestExtra) bool { return extra == nil || extra.TokenInfo == nil }

// callerExtra is where the TokenInfo of an HTTP request has its session.
const callerExtra = "quoin"

// identified hands the session of a request to the SDK, as the user with its bearer token: the
// connection of one user is refused to all others.
func identified(next http.Handler) http.Handler {
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		s, ok := r.Context().Value(callerKey{}).(host.Session)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: identity(s), Expiration: time.Now().Add(time.Hour), Extra: map[string]any{callerExtra: s}}, nil
	}
	return auth.RequireBearerToken(verify, nil)(next)
}

// as returns the request as one of the session's. What the caller proved itself with
// goes no further.
func as(r *http.Request, s host.Session) *http.Request {
	r = r.Clone(withCaller(r.Context(), s))
	r.Header.Set("Authorization", "Bearer checked")
	return r
}

// identity is a text that all turns of a session share and no other session has.
func identity(s host.Session) string {
	s.TurnID = ""
	b, err := json.Marshal(s)
	if err != nil {
		panic("mcpserver: strings cannot be encoded: " + err.Error()) // they always can
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
