// Package node runs commands on another machine.
//
// # Nouns
//
// A gateway is the Quoin whose programs want commands run. A node is the machine that
// runs them: a [Server] there, started by quoin node serve. Each has an identity, which
// is a key that no one else has, and knows the other by the fingerprint of its key.
//
// An invitation lets one gateway enrol at a node. [Home.Invite] makes a token of it, which
// holds the fingerprint of the node and a secret that counts once. [Nodes.Add] redeems the
// token: from then on the gateway has an [Enrolment] of the node, and the node one of the
// gateway.
//
// A [Job] is a command line for a node. [Node.Judge] asks what the node would do with it;
// [Node.Start] runs it, as an execution.Process whose bytes go through the connection.
//
// # Lifecycle
//
// [Open] the enrolments, ask for a [Node] by its name, Close at the end. Enrolments are
// read each time: a node that is added or removed meanwhile is there or gone. A process
// lives as long as its stream. When the stream ends, because the gateway says so, is
// killed or cannot be reached for some seconds, the node ends the process and all its
// descendants.
//
// # Concurrency
//
// All methods may be called from any goroutine, apart from those of a process that
// execution.Process excepts. A process whose output is not read stops writing: streams
// hold little, and flow control holds back the node.
//
// # Failure
//
// [ErrRefused] wraps what the node's policy refuses, [ErrApproval] a command that a person
// has to see first, or again. A process whose connection is lost fails its Read and its
// Wait: how it ended cannot be known, only that it has.
//
// # Trust
//
// A node decides by its own configuration. The stricter of two policies wins: what the
// node denies is denied, and what its allow-list does not have needs an approval if the
// node asks, and is refused if it does not. A gateway that is enrolled is believed when
// it says that a person has approved a command, and nothing else: its messages are
// checked as those of a stranger. The gateway believes its node no more: what a node says
// is bounded, and a judgement of a node lets run only what runs on that node.
//
// Connections are TLS 1.3 with both keys pinned. Certificates carry the keys and say
// nothing else that counts: their names and dates are not looked at.
package node

//go:generate go -C ../../../plugins/protocol/protogen run . ../../../internal/shell/node/nodepb node.proto
