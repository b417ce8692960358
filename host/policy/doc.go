// Package policy decides what runs may do with tools: rules say which tools
// exist, hooks look at every call before and after it, and approvals put a call
// to a person. It is for the host, for embedders who write rules and hooks, and
// for programs that decide approvals from elsewhere.
//
// # Rules
//
// [Rules] allow and deny tools by name, id, owner or source, with patterns; deny
// wins, and an empty allow list allows everything. [Scopes] hold the rules of a host, its
// agents and its sessions; [Policy] is their compiled form, [Layers] what it says for one
// session. Layers are added up, never replaced: each can only take away. A tool that the
// layers do not allow does not exist for the run. A pattern that means nothing is an error
// when it is compiled, and not a pattern that matches nothing: a deny with a slip of the pen
// would otherwise deny nothing, silently.
//
// # Hooks and approvals
//
// A [Call] is a tool call as hooks see it. A [Hook] is a pair of functions
// around calls. A before-hook answers with a [Verdict]: nothing, rewritten
// parameters, a block, or an [ApprovalRequest]. An after-hook sees the [Outcome]
// and may replace its value. A [Chain] runs hooks in order.
//
// An [Approval] is a call that waits for a person, who answers with a
// [Decision]. A [Grant] is what allow-always leaves behind. [Approvals] is the
// store of both: [MemoryApprovals], or [StoredApprovals], which outlives the
// process and which several processes share.
//
// An inquiry is an approval that asks questions: a tool cannot continue before a person has
// answered. [NewInquiry] makes it, [Answer] ends it, and there is nothing to decide.
// [AnswerAuthorization] accepts questions that a sign-in has answered. [AllowEdited] lets a
// call happen with another input than its own.
//
// # How verdicts add up
//
// Hooks run in order, and each sees the parameters as those before it left them.
// The first block wins, and no later hook runs. Requests for approval are
// collected and merged into one, asked once every hook has run, about the
// parameters that would be used: what a person sees is what happens. The merged
// request has the first title, every description, the highest severity, the
// shortest timeout and the decisions that all requests allow.
//
// After-hooks run in the reverse order, so that a hook encloses those behind it.
//
// # What allow-always means
//
// It is remembered for the agent, its session key (the session id where there is
// no key), the tool, the hook that asked, and the subject the hook gave, up to
// the severity it was given for. It answers later requests of the same hook that
// allow allow-always themselves, and no others. Callers without any identity are
// never remembered. A request with a subject neither allows nor uses it once a
// later hook has rewritten the parameters: the subject may not describe them.
//
// # Failure
//
// Everything fails closed. A hook that returns an error, panics, takes longer
// than its time or answers with something that is not a verdict blocks the call.
// An after-hook that fails withholds the result. An approval is denied if there is no decision
// in time, if it is cancelled, or if its record cannot be read.
//
// # Concurrency
//
// Hooks are called concurrently, for calls of one run too. Stores are safe for
// concurrent use; of several decisions about one approval, in any number of
// processes, exactly one counts, and all callers learn which.
//
// # Trust
//
// Hooks of the embedder are trusted with every parameter and result. A directory
// of approvals is hostile until its seal has verified. Titles, descriptions,
// inputs and questions of an approval are text of models, plugins and servers:
// escape what a terminal or a browser would interpret. Lists have no contents of
// answers; [Approvals].Get has.
package policy
