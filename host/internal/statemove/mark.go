package statemove

// A mark is what Record.Moving of a run says while it is carried. It names the other store
// by its own identity, so that no move takes what another one has left for its own.
const (
	markCopy   = "exported"
	markTo     = "to "          // the run goes to that store
	markFrom   = "from "        // it comes from there, where it may be still
	markResult = "result from " // the place of a result that comes from there
)

// outgoing is the mark in the source.
func (m *Mover) outgoing() string { return markTo + m.To.Runs.Identity() }

// incoming is the mark in the destination.
func (m *Mover) incoming() string { return markFrom + m.From.Runs.Identity() }

// incomingResult is the mark of a place in the destination.
func (m *Mover) incomingResult() string { return markResult + m.From.Runs.Identity() }

// brought reports whether a mark in the destination is from this move, or from one that
// was interrupted.
func (m *Mover) brought(mark string) bool { return mark == m.incoming() || mark == m.incomingResult() }
