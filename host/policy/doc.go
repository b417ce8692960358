// Package policy decides what runs may do with tools. It is for the host, and
// for embedders who write rules into their configuration. It imports nothing of
// ours and starts nothing.
//
// # Rules
//
// [Rules] allow and deny tools by name, id, owner or source, with patterns; deny
// wins, and an empty allow list allows everything. [Scopes] hold the rules of a
// host with those of its agents and sessions; [Policy] is their compiled form,
// [Layers] what it says for one session. Layers are added up, never replaced:
// each can only take away. A tool that the layers do not allow does not exist
// for the run. A pattern that means nothing is an error when it is compiled, and
// not a pattern that matches nothing: a deny with a slip of the pen would
// otherwise deny nothing, silently.
package policy
