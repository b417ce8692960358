// Package agenda keeps appointments: single and recurring events over one
// SQLite file, what they amount to in a window of time, and which parts of it
// are free. It knows nothing of plugins; the program one folder up binds it to
// tools.
//
// The nouns. An [Event] is an appointment or a series of them. A series repeats
// by a [Rule]; one member of it is an [Occurrence], named by its occurrence
// key: the local date and time at which the rule puts it. An [Exception]
// cancels or moves one member. A [Window] is a stretch of time, its start
// included and its end not.
//
// Time. An event happens on the clock on the wall of its time zone: a meeting
// at nine is at nine in winter and in summer. Rules are therefore expanded on
// wall-clock time, and only the results are turned into instants. A wall-clock
// time that a zone skips in spring is read with the offset before the gap
// (02:30 becomes 03:30), one that comes twice in autumn means the first, as
// RFC 5545 asks. An event lasts as long on every day. An event on a date
// without a time is all-day: it belongs to no zone and covers the whole date in
// whatever zone the reader looks from.
//
// Bounds. Windows span at most two years, rules repeat daily at most, and no
// answer holds more than 5,000 occurrences; more is refused, never cut off in
// silence. Zone data is linked in, so answers do not depend on the machine.
//
// Failure. Everything a caller did wrong is an [*Error] with a code and a
// message that says what to do next; any other error is a fault of the store.
//
// Concurrency. All methods of a [Store] may be called from several goroutines.
package agenda
