// Package gateway serves a host over HTTP, for callers in other processes and
// other languages. Go programs that can embed package host need it not; those
// that cannot have a client in gateway/client.
//
// # Nouns
//
// A Server is an http.Handler that answers for one host.Host. A route is one
// operation of it; OpenAPI describes all of them. A Session, in headers, says
// who asks. A Problem is the answer to a request that is refused. A Face is a
// further protocol served beside the routes.
//
//	s, err := gateway.New(h, gateway.Options{})
//	if err != nil {
//		return err
//	}
//	l, err := net.Listen("tcp", "127.0.0.1:8787")
//	if err != nil {
//		return err
//	}
//	return s.Serve(l)
//
// # Lifecycle
//
// The embedder makes the host, then the server, and closes the host after
// Shutdown. Shutdown accepts no more, parks the cells that are running as
// suspended runs, whose clients get a waiting result, and returns once they have
// it. A server may also be mounted in an http.Server of the embedder's, who then
// bounds headers and idle connections.
//
// # Concurrency
//
// Exec and wait take a place each of Options.MaxCalls for as long as they last.
// When none is free, and while the server shuts down, they are refused with 503
// and Retry-After. A client that goes away during an exec aborts its run. One
// that goes away during a wait does not harm the run: the wait goes on, and the
// session's next wait for the same run gets its result, output included.
//
// # Failure
//
// A cell that fails is a Result with status 200, exactly that of package host.
// Requests that are refused get a Problem: 4xx is the caller's fault and says
// what was expected, 503 may be repeated, 500 is ours.
//
// # Trust
//
// Requests are hostile until they have passed, in this order: the address they
// came to, the Host they name, the origin of a web page that may have sent them,
// the token, the session headers, the query, the media type, length and form of
// the body. Over loopback no token is needed unless there is one; beyond it the
// token and a session always are. The token is the whole authority: whoever has
// it may name any session, see every plugin and decide approvals. Sessions keep
// the runs of one caller's users apart; they do not prove who somebody is.
//
// # What it does not do
//
// It keeps nothing itself, except results of waits whose client went away. It
// does not speak TLS: beyond a machine, put a proxy with certificates in front.
// Quoin as an MCP server will be a Face; there is none yet.
package gateway
