package namespaces

// Limits bound one scope, because it comes from a plugin and goes into a
// guest. A field that is not positive means its default.
type Limits struct {
	// Nodes is how many objects, arrays, values and calls there may be. A
	// value reached by two ways counts twice. Defaults to 50,000.
	Nodes int
	// Depth is how many levels there may be; the root is the first, and every
	// value is a level below its container. Defaults to 64.
	Depth int
	// Bytes is the size of the encoded scope, as MarshalJSON writes it.
	// Defaults to 4 MiB.
	Bytes int
}

// The limits used where a program does not give its own.
const (
	defaultNodes = 50_000
	defaultDepth = 64
	defaultBytes = 4 << 20
)

// withDefaults fills in what was left open.
func (l Limits) withDefaults() Limits {
	if l.Nodes <= 0 {
		l.Nodes = defaultNodes
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	return l
}
