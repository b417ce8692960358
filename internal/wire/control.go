package wire

// Hello opens a conversation. It is the first message a worker receives.
type Hello struct {
	Version uint32
	// BuildID is the SHA-256 of the worker's executable, as the host computed
	// it. The worker stamps it into every image it makes.
	BuildID [32]byte
	// Required makes the worker end instead of saying Ready if its sandbox lacks
	// a layer that the host insists on.
	Required bool
}

// Start asks for a new guest that runs a cell.
type Start struct {
	Cell Cell
	// BudgetMicros is the wall time the guest may use, in microseconds; 0 means
	// no limit of the worker's own.
	BudgetMicros uint64
	// Trace, if it is not empty, makes this a turn of a replay: the guest reads the clock
	// and draws random values as in the turn that the trace is of.
	Trace []byte
}

// Turn delivers settlements to a waiting guest and lets it run on.
type Turn struct {
	Settlements  []Settlement
	BudgetMicros uint64 // as in Start
	Trace        []byte // as in Start
}

// Snapshot asks for an image of a waiting guest.
type Snapshot struct {
	// MaxBytes is the largest image the host accepts; 0 means MaxImage.
	MaxBytes uint64
}

// Restore asks for a guest made of an image.
type Restore struct {
	Image  []byte
	Limits Limits
}

// FileData answers a NeedFile.
type FileData struct {
	Found bool
	Data  []byte
}

// Reset asks the worker to forget its guest.
type Reset struct{}
