// Package protocol is what a Quoin host and a plugin process agree on: the
// handshake, the messages and the errors, as plain Go types.
//
// # Nouns
//
// A [Description] says who a plugin is and what it offers: [ToolInfo] and
// [NamespaceInfo]. A [CallRequest] asks for one tool call on behalf of a run,
// which a [RunContext] names. An [Error] is a failure carried as data: its Kind
// says who is to blame, its Code is a word programs may compare, its Message is
// for people and models.
//
// A [Service] is the plugin's side of the conversation and a [Client] the
// host's; both speak these types. The generated protobuf code stays in
// protocolpb and never leaves this package.
//
// # Lifecycle
//
// The host starts the process, shakes hands (see [Handshake]), calls Describe,
// Configure and Health, and from then on CreateScope, MapInput and CallTool in
// any number and order. A plugin that has declared hooks is also asked about tool
// calls, BeforeToolCall and AfterToolCall. Drain comes last. From before Configure
// on a plugin of version 2 can ask its host for things over a [HostLink]: its
// [Storage].
//
// # Concurrency
//
// All calls may run at the same time on both sides. The progress events of one
// call arrive in the order they were sent and before its result. Ending the
// context of a call on the host ends the context of the call in the plugin.
//
// # Failure
//
// Every method of [Client] fails with an *[Error] and nothing else. What the
// plugin reported arrives with the Kind it gave; a failed transport becomes
// KindProcess (the plugin died), KindTimeout, KindCancelled or KindProtocol (a
// reply that is malformed or over the limit). Codes and kinds are append-only
// and never derived from the text of a message.
//
// # Trust
//
// The client treats the plugin as hostile: every JSON field is checked for
// being JSON, event order is checked, and the size of a message is bounded by
// the connection. It does not judge what a Description claims; package plugins
// does.
package protocol

//go:generate go -C protogen run . ../protocolpb plugin.proto
