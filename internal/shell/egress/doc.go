// Package egress is the one way from the sandbox of a command to the network: an HTTP
// proxy with a list of domains.
//
// # Nouns
//
// A [Proxy] has the domains of plugins.shell.sandbox.domains: exact names, or "*.name"
// for the names below name. A domain may end in a port; without one, plain HTTP goes to
// port 80 and CONNECT to port 443. A [Refusal] is a request that did not pass, and why.
//
// # Lifecycle
//
// [Proxy.Serve] serves the listener of one command: the sandbox opens it on its own
// loopback, where no other process can reach it. It returns when the listener is closed
// or its context ends, and by then every connection that it made is closed.
//
// # Trust
//
// Clients are hostile, and so are the answers of DNS. A name is looked up only if the
// list has it, so that no other name leaves the machine. The proxy looks it up itself and
// dials the address that it has checked; a second answer cannot lead elsewhere.
// Addresses that are not of the public internet, or are this machine's, are never
// dialed. Behind a CONNECT there must be TLS that names the same server; a hello with an
// encrypted name is refused. What TLS hides, the proxy does not see: if a server of the
// list passes requests on to another, the list cannot prevent it.
//
// # Failure
//
// What does not pass gets 403 with the reason, which no retry changes. A server that
// cannot be reached is 502. Header sizes, connections and waits are bounded.
package egress
