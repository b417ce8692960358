package wire

// Version is the protocol this package speaks. A host and a worker of one installation
// are built together. OldestVersion is what a host still speaks with a worker of an
// earlier build, which finishes the runs that it has suspended.
const (
	Version       uint32 = 5
	OldestVersion uint32 = 3

	FirstWithTraces uint32 = 4 // see Report.Trace
	FirstOnPipes    uint32 = 5 // workers before have a socket: see Pipes
)

// Spoken reports whether this package speaks a version of the protocol.
func Spoken(version uint32) bool { return version >= OldestVersion && version <= Version }
