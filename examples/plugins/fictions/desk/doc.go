// Package desk is the production desk of a small fiction publisher: stories on
// their way through [Statuses], and the invoices they cause, in one SQLite
// file that is filled with the same stories when it is created. It knows
// nothing of plugins; the program one folder up binds it to tools.
//
// The nouns. A story has a status and, with each, conditions for the next one.
// A [Risk] is a story that is likely to come late or to cause trouble, with the
// reasons. A [Promotion] is the outcome of an attempt to move a story one
// status on: a story that is not ready is no error, but an answer that lists
// its blockers. An [Invoice] is money owed for a story.
//
// All methods of a [Desk] may be called from several goroutines; promotions
// happen one after the other. What a caller did wrong is an [*Error].
package desk
