// Package mcpserver makes a host an MCP server: a client sees the tools exec and
// wait in place of hundreds, over streamable HTTP or standard streams.
//
// # Nouns
//
// A Server answers the requests of clients. A caller is the host.Session that a
// request acts for. An era is how a client speaks: since revision 2026-07-28 each
// request stands for itself; older clients start with initialize. Both are
// spoken.
//
// # Results
//
// The content of a result is the Result of package codemode without its telemetry
// and without empty lists, as one line of JSON. The structured content is the same
// value, since clients differ in which of both they give to the model. Telemetry
// is in _meta, which models do not get. A failed result has isError.
//
// # Waiting
//
// A client that does not follow the progress of a call gives up on it, so exec and wait
// answer within Options.Wait. A wait with a progress token takes as long as the settings of
// the host allow, and its client hears every 15 s that it still runs. Exec never takes longer
// than Options.Wait: its client does not know its run yet. A client that gives up on a wait
// leaves the run as it is.
//
// # Asking people
//
// Approvals, questions of tools and sign-ins are put to the client, if it offers
// elicitation: in the stateless era by a result that asks for input, with a state that
// the client brings back, before by requests over its connection. Other clients read in
// the waiting result what a person has to do, and where. The state is sealed with
// Options.Cipher, and an answer counts for the session, the call and the approval that it
// names. A client with an answer that does not fit is told what it lacks, and after a few such
// answers the answer is no.
//
// # Direct tools
//
// Options.Direct, and the direct-only tools of the host, are seen next to exec and wait. A
// call of one is a program with this one call.
//
// # Lifecycle
//
// New makes a Server of a host, which it borrows. Handle and ServeHTTP answer HTTP
// requests, Serve answers one client over two streams. Close ends what is open.
//
// # Concurrency
//
// All methods of Server are safe for concurrent use.
//
// # Failure
//
// What a program does wrong is a result with isError. What a client does wrong is an
// error of the protocol, or an HTTP status.
//
// # Trust
//
// Clients are hostile: bodies are bounded before they are decoded. Who asks is never
// read from the body of a request. A run belongs to its session, whatever runId a
// client sends.
package mcpserver
