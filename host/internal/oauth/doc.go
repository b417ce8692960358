// Package oauth signs in to servers on the network that want OAuth 2.1, as the
// authorization chapter of MCP has it, and keeps the tokens.
//
// # Nouns
//
// A [Server] is the resource. An [Owner] is who consents: the host, or one user. A
// challenge is what a server says with a 401 or 403. A grant is what a consent brought:
// tokens, and for whom and where they count. A flow is a sign-in that a browser has not
// come back from. A client is how an authorization server knows us. A [Client] does it
// all, and a [Transport] puts tokens into requests.
//
// # Lifecycle
//
// A Transport sends a request with the token of its caller. A token near its end is
// renewed first. On a 401 the token is renewed once; on another, or on a 403 that wants
// more scopes, the answer is a *[Required] error: with a link, if the caller is known and
// browsers can come back, which starts a flow that is stored. [Client.Callback] ends it. A
// [Client.Login] keeps its flow in memory and listens itself. Each flow works once and
// for a day.
//
// # Files
//
// Each grant, flow and client is a file of mode 0600, encrypted and bound to its name.
// The name is a hash. Processes that share the directory exclude each other with a lock
// per grant, so that a refresh token is used once.
//
// # Concurrency
//
// Everything is safe for concurrent use.
//
// # Failure
//
// Errors name the server and say what to do. They never have a token, a code, a verifier,
// a secret, or more of a server's words than an error code of OAuth.
//
// # Trust
//
// The server, its metadata, the authorization server and what a browser brings back are
// hostile. Addresses are https, or loopback if the server is on loopback; private ones are
// dialled only if that is configured. Redirects stay on their host, and redirects of token
// endpoints are refused. Bodies and times are bounded. The metadata must be about the
// configured address, and name the issuer that it was fetched for. Credentials go to the
// issuer that they came from and to no other. An authorization response counts only with the
// state of its flow, and with the right iss where there is one.
//
// # What it does not do
//
// It does not know who opens a link in a browser: give a link only to the person who makes
// the calls that it is for.
package oauth
