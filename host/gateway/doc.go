// Package gateway serves a host over HTTP, for callers in other processes and
// other languages. A Go program that can embed package host does not need it. One
// that cannot uses package gateway/client.
//
// # Nouns
//
// A Server is an http.Handler that answers for one host.Host. A route is one
// operation of it; OpenAPI describes all of them. A Session, in headers, says who
// asks. A Problem is the answer to a request that is refused. A Mount is another
// protocol on the same address, behind the same checks. An Authenticator lets callers
// of a mount in who have something else than the token.
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
// You make the host, then the server, and close the host after Shutdown. Shutdown
// accepts no more requests and parks the cells that are running as suspended runs. Their
// clients get a waiting result. Shutdown returns once the clients have it. You may also mount
// a Server in an http.Server of your own. Then you bound headers and idle connections
// yourself.
//
// # Concurrency
//
// Each exec and wait counts against Options.MaxCalls for as long as it lasts. At the
// limit, and while the server shuts down, they are refused with 503 and Retry-After.
// A client that goes away during an exec aborts its run. A client that goes away
// during a wait does not harm the run. The wait continues, and the session's next wait for the
// same run gets its result, output included.
//
// # Failure
//
// A cell that fails is a Result with status 200, exactly the Result of package host. A request
// that is refused gets a Problem. 4xx is the caller's fault and says what was expected,
// 503 may be repeated, 500 is a fault of the server.
//
// # Trust
//
// Requests are hostile until they have passed, in this order: the address they arrive at, the
// Host they name, the origin of a web page that may have sent them, the token, the session
// headers, the query, the media type, length and form of the body. Over loopback a request
// needs a token only if the server has one. Beyond loopback it needs the token and a session.
//
// The token is the whole authority. A caller who has it may name any session, see
// and end the runs of all sessions, see every plugin and decide every approval.
// Sessions keep the runs of one caller's users apart. They do not prove who a user
// is.
//
// # What it does not do
//
// It keeps nothing itself, except results of waits that their client has left. It does not
// speak TLS: beyond one machine, put a proxy with certificates in front. It is no MCP server
// itself: that is a Mount.
//
// # Where things are
//
// server.go starts and ends the server. dispatch.go passes a request through the
// checks of guard.go and session.go to the route in routes.go. The handlers stand in
// exec_wait.go, runs.go, approvals.go, catalog.go, plugins.go, trajectories.go,
// events.go, development.go, model_tools.go and health_metrics.go. body.go and fields.go
// read bodies, response.go and problem.go write answers, limits.go counts what
// requests hold, detached_waits.go keeps waits that their client has left.
package gateway
