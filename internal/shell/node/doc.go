// Package node runs commands on another machine, by the ssh of the system.
//
// # Nouns
//
// A gateway is the Quoin with programs that want commands run. A [Node] is the machine that
// runs them. A [Worker] is the process there, quoin shell-worker, that ssh starts for each
// thing that is asked: it judges one [Job], or judges and runs it.
//
// # Lifecycle
//
// Gateway and worker say JSON values to each other over the standard streams of ssh. A process
// lives as long as its connection. The gateway says something every few seconds; when a worker
// hears nothing for longer, or the stream ends, it ends the process and all its descendants,
// and itself.
//
// # Concurrency
//
// The methods of a Node may be called from any goroutine. A process stops writing when its
// output is not read: the pipes of ssh hold little.
//
// # Failure
//
// [ErrUnavailable] wraps why a machine cannot be asked, with what to do about it, [ErrRefused]
// what the policy there refuses, [ErrApproval] a command that a person has to see first, or
// again. A process fails its Read and its Wait when its connection is lost: how it ended
// cannot be known, only that it has.
//
// # Trust
//
// Who may come in, and which machine it is, is ssh's affair: its keys, its known_hosts, its
// configuration. The stricter of two policies wins: what the node denies is denied, and what
// its allow-list does not have needs an approval if the node asks, and is refused if it does
// not. Who has come in is believed to say truly that a person has approved a command, and
// nothing else. The gateway believes the node no more: what a node says is bounded, and a
// judgement of a node lets run only what runs on that node.
package node
