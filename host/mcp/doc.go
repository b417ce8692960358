// Package mcp connects a host to upstream MCP servers: programs that speak over
// their standard streams, and servers on the network that speak streamable HTTP.
// It is for package host, which puts their tools into the catalog.
//
// # Nouns
//
// A [Server] says how to reach one upstream server. [Servers] keeps a connection
// to each. A [Tool] is what a server offers: its tools, and the four operations
// on its resources and prompts (resources_list, resources_read, prompts_list,
// prompts_get), which a cell calls like tools. A server may also be described by an
// OpenAPI document: its operations are the tools then. A [Status] says how a server is. What the
// tools of a server were when it was first seen is pinned; a [Difference] says what has
// changed since, a [Finding] what is suspicious. A question is what a server wants to know
// from a person in the middle of a call: see codemode.Question. A task is a call that a server
// continues by itself; the host asks for it until it ends. [SignIns] keeps the tokens of
// servers that want a sign-in.
//
// # Lifecycle
//
// Connect starts one keeper per server and returns at once; Tried tells when each
// has made its first attempt. Until then a server has the tools that are pinned, and calls
// of them wait for it. A server that is down has no tools. Its keeper tries
// again, with growing pauses, until Close. When a connection ends, the tools of
// its server end with it; Options.OnChange is told whenever Tools changes, also
// when a server announces another list. A program leads a process group of its
// own, dies with the host, and gets no variable of the host's environment that its
// Server does not name. Close ends every connection and leaves no process.
//
// A server that answers 401 is signed in to. A call then fails with a question of kind
// authorization, which has a link once SignIns.Callback was called, and is made again once
// someone has signed in, in whichever process. Without a sign-in a server is down; the
// tools that are pinned stay, so that a run that waits finds them. SignIns has to outlive
// the Servers that use it; it has nothing to close.
//
// # Concurrency
//
// All methods of Servers are safe for concurrent use. Calls of one server run side
// by side, unless its Server bounds their number or rate; the rest wait. OnChange is called from the keepers' goroutines, by one at a time.
//
// # Failure
//
// Every error of Call is an *[Error] with a [Code], or a *codemode.InputRequired: a person
// has to answer, and the call is made again with the answers. An answer with isError set is an
// answer and no error. Error.Unknown tells calls that may have taken effect from those that
// cannot have. After a call that ran out of time the list of tools is asked for; a server that
// does not answer that either is disconnected and connected again. So is a server on the
// network that ends a connection with a request in flight and then refuses a fresh one. Where
// such a server has forgotten the session, the session is started again, and the call, which
// did not run, is made again once. A task outlives the connection, but not the host: only one
// that has asked a person is found again after a restart.
//
// # Trust
//
// Servers are hostile. What they send is bounded before it is decoded: messages in
// bytes, nesting and number of values, lists in pages, tools and bytes, requests of
// theirs in number, log lines in rate. A tool with an unusable name is left out, and the
// others stay. What cannot be read in an input schema is left out of it, and named in the log. Their hints about reading and repeating count only
// where the Server says so. They are offered no roots and no sampling. Their questions go
// to the person behind the call that they belong to, in number, size and shape bounded:
// over HTTP that is the call on the stream of the question, otherwise the only session that
// has calls in flight; if there are several, the question is declined. Redirects are followed
// within the configured origin alone, so that headers with credentials reach no other.
//
// A tool that is new or has changed since it was pinned is quarantined: it is not in Tools,
// and Call refuses it, until Accept. What is seen first is trusted. What a tool's
// description says to a model is beyond what this package can judge; findings point a
// person at characters that do not show, at names that look like names of another server, and
// at words of a short list of patterns.
//
// A token goes to the configured address and to no other, and to the authorization server
// that it came from. It is in no error, and in no file but the encrypted ones of SignIns.
// Where each user signs in, a call has the token of its Session. The requests that belong
// to no call, such as listings, have the host's own.
//
// A server of the embedder's own process is connected over pipes and bounded like any
// other, but believed: its hints count, and its tools are not pinned. Its handlers get the
// values of the context of the call, which no other client of it can claim.
//
// # What it does not do
//
// It knows nothing of catalogs, policy and guests: see package host.
package mcp
