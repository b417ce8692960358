// Package resourceserver lets callers in by the access tokens of an identity
// provider, as an OAuth 2.1 resource server does (RFC 6750, RFC 9068, RFC 9728).
// It is for quoin serve, which mounts the MCP server behind it.
//
// # Nouns
//
// A [Config] names the issuer of the tokens that count, the resource that they must be for,
// the scopes that they must have, and the claims that say who asks. A [Server] checks tokens
// against it. Its metadata document tells clients where to get one.
//
//	s, err := resourceserver.New(ctx, resourceserver.Config{
//		Issuer: "https://login.example.com", Audience: "https://quoin.example.com/mcp",
//	})
//	session, ok := s.Authenticate(w, r)
//
// # Lifecycle
//
// A Server fetches the issuer's keys when the first token arrives, and again each
// quarter of an hour, or when a token names a key that it lacks, at most once in ten
// seconds. What it started ends with the context of New.
//
// # Concurrency
//
// A Server is safe for concurrent use. Requests share one fetch of the keys.
//
// # Failure
//
// A request without a token, or with one that does not count, gets 401 and a
// challenge that names the metadata. A token that lacks a scope gets 403 with
// insufficient_scope. While the issuer's keys cannot be had, requests get 503: their
// tokens may be good. Keys that could not be fetched again for a day are used no more.
//
// # Trust
//
// The configuration is trusted. Tokens are hostile, and bounded before they are
// decoded. Key sets and metadata of the issuer are believed in what they say of keys,
// and bounded in size and time; redirects are not followed. A token counts only with
// a signature of an asymmetric algorithm, by a key that the set has under the token's
// kid. Messages and logs never hold a token.
//
// # Where things are
//
// config.go checks the configuration. http.go answers requests. token.go checks a token
// and makes a session of its claims. keys.go keeps the keys, discovery.go finds them.
package resourceserver
