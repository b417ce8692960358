// Package tracker keeps issues: a small tracker over one SQLite file, and the
// rules of what may be done to an issue. It knows nothing of plugins; the
// program one folder up binds it to tools.
//
// The nouns. An [Issue] is open or closed and has a version, which grows by one
// with every edit. A [Draft] is what a new issue is made of, a [Patch] is an
// edit, a [Filter] selects issues and a [Page] is one answer to it. An [Act]
// says who does something and under which idempotency key.
//
// Versions. An edit names the version it has read. If the issue changed in
// between, the edit fails with code conflict and names the current version; nothing
// is overwritten unseen. Comments do not change the version: two people
// may comment at the same time.
//
// Paging. A cursor remembers the place after the last item, not a number of
// items, so issues that come or go between two pages make no item appear twice
// or be skipped. (An issue that is itself edited in between may move to another
// place of the order.) A cursor belongs to its filter and is refused with another.
//
// Failure. Everything a caller did wrong is an [*Error] with a code and a
// message that says what to do next; any other error is a fault of the store.
//
// Concurrency. All methods of a [Store] may be called from several goroutines.
// Reads see one moment; edits happen one after the other.
package tracker
