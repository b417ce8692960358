// Package cluster lets the hosts of one store ask each other about the runs that they hold.
//
// # Nouns
//
// A Server answers what other hosts ask this one. Peers asks others. A Request names a run,
// who asks for it, and what for. A Frame is one line of the answer: what happens in the run
// before the reply, and at last the Reply. Credentials prove that both sides belong to one
// cluster.
//
// # Lifecycle
//
// A host listens, tells the store its address, serves, and closes the Server before it
// closes its runs. Connections of Peers come about when they are used.
//
// # Concurrency
//
// Everything may be used from any goroutine. A Server answers MaxRequests at once and
// refuses more.
//
// # Failure
//
// ErrUnreachable says that a host did not answer: it is gone, stopped or cut off. A host
// that is there answers pings, so that a wait of minutes finds out within pingAfter and
// pingTimeout. ErrNotHere says that the host does not hold the run, or is not the host that
// was meant: the asker looks in the store again. A request is never passed on: it goes from
// the host that a caller has reached to the one that holds the run, and no further.
//
// # Trust
//
// Hosts of one cluster trust each other: each may name any session. Who asks is checked by
// the host that the caller has reached, and again by the one that holds the run. Both sides
// prove by mutual TLS that they have the shared secret, or a certificate of the given
// authority. Addresses come from the store and are not trusted: a host that cannot prove
// itself gets no request. Bodies are bounded before they are decoded.
package cluster
