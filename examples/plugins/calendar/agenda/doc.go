// Package agenda keeps appointments: single and recurring events over one
// SQLite file, what takes place in a stretch of time, and which parts of it
// are free. It knows nothing of plugins; the program one folder up binds it to
// tools.
//
// The nouns. An [Event] is an appointment, or a series of them by a rule of
// RFC 5545. An [Occurrence] is one appointment as it takes place; the start of
// one that belongs to a series names it there.
//
// Time. A series keeps its local time: a meeting at nine is at nine in winter
// and in summer. Package time decides about the rest: a local time that a zone
// skips in spring moves past the gap, one that comes twice in autumn is the
// later one. A date is its midnight, and an event of whole days ends at a
// midnight, however long the days are.
//
// Bounds. Ranges span at most two years, rules repeat daily at most, and no
// answer holds more than 5,000 occurrences; more is refused, never cut off in
// silence. Zone data is linked in, so answers do not depend on the machine.
//
// Failure. Everything a caller did wrong is an [*Error] with a code and a
// message that says what to do next; any other error is a fault of the store.
//
// Concurrency. All methods of a [Store] may be called from several goroutines.
package agenda
