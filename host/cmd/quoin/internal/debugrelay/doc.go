// Package debugrelay lets a host use a plugin that another program has started, such
// as a debugger.
//
// A host starts its plugins itself, proves who is at the other end by mutual TLS,
// and ends them; it cannot do so for a process under a debugger. So the host
// starts a relay: a plugin like any other, with a folder and a manifest ([Stage]). Its binary
// is a copy of the quoin command ([ServeIfRelay]) and passes every call on to the socket at
// which the real plugin listens. The relay comes and goes with the host; the plugin and its
// debugger stay.
//
// # Trust
//
// Nothing is encrypted between relay and plugin: the socket is in a folder of the
// user's own that is closed to others, which both sides check.
package debugrelay
