package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/quoinhq/quoin/host/codemode"
)

// maxRefusal is how much of the body of a refusal is read, in bytes.
const maxRefusal = 64 << 10

type callerKey struct{}

// WithCaller notes the caller that a request is made for.
func WithCaller(ctx context.Context, s codemode.Session) context.Context {
	return context.WithValue(ctx, callerKey{}, s)
}

// HasCaller reports whether a request is for a call.
func HasCaller(ctx context.Context) bool { return ctx.Value(callerKey{}) != nil }

// Transport puts tokens into the requests to one server. A request that is refused for
// want of a sign-in fails with *Required, and one that can never succeed with *Error.
type Transport struct {
	Base   http.RoundTripper
	Client *Client
	Server *Server
}

// RoundTrip makes a request with the token of its caller; a request of no call has the token
// of the host.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	caller, called := r.Context().Value(callerKey{}).(codemode.Session)
	owner := Owner{}
	if called {
		owner = t.Server.OwnerOf(caller)
	}
	if t.Server.Check() != nil {
		return t.Base.RoundTrip(r) // no token goes there; its 401 is one
	}
	token, err := t.Client.token(r.Context(), t.Server, owner, "")
	if err != nil {
		return nil, err
	}
	resp, ch, err := t.send(r, token)
	if err != nil || resp != nil {
		return resp, err
	}
	if !ch.StepUp { // a person may have signed in by now, too
		renewed, err := t.Client.token(r.Context(), t.Server, owner, token)
		if err != nil {
			return nil, err
		}
		if renewed != "" {
			again, err := repeated(r)
			if err != nil {
				return nil, err
			}
			if resp, ch, err = t.send(again, renewed); err != nil || resp != nil {
				return resp, err
			}
		}
	}
	if !called {
		return nil, &Required{Server: t.Server.Name, Challenge: ch}
	}
	return nil, t.Client.Require(r.Context(), t.Server, owner, ch)
}

// send makes one request. It returns the answer, or the challenge of a refusal.
func (t *Transport) send(r *http.Request, token string) (*http.Response, Challenge, error) {
	if token != "" {
		out := r.Clone(r.Context())
		out.Header.Set("Authorization", "Bearer "+token)
		r = out
	}
	resp, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, Challenge{}, err
	}
	ch, refused := challengeOf(resp)
	if !refused {
		return resp, ch, nil
	}
	_, err = io.CopyN(io.Discard, resp.Body, maxRefusal) // so that the connection can be used again
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return nil, ch, errors.Join(err, resp.Body.Close())
}

// repeated returns a request to be made again.
func repeated(r *http.Request) (*http.Request, error) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("the request cannot be made again with a new token")
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err
}

// Require returns the error of a call that an owner has to sign in for: *Required, or
// *Error if no sign-in would help.
func (c *Client) Require(ctx context.Context, s *Server, o Owner, ch Challenge) error {
	out := &Required{Server: s.Name, Challenge: ch}
	redirect := c.callback.Load()
	if redirect == nil {
		return out
	}
	link, err := c.pending(ctx, s, o, ch, *redirect)
	if err != nil {
		return err
	}
	out.Link = link
	return out
}
