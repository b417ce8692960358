package wire

// The states of a Layer.
const (
	LayerOn     = "on"     // applied and verified by the worker
	LayerOff    = "off"    // not applied
	LayerFailed = "failed" // tried, refused by the system
)

// Layer is one layer of a worker's isolation.
type Layer struct {
	Name, State, Detail string
}

// Ready says that the worker is sealed and has no guest.
type Ready struct {
	Version  uint32
	EngineID string
	Layers   []Layer
}

// NeedFile asks for a virtual file. The worker blocks until FileData arrives.
type NeedFile struct {
	Path string
}

// Image is the snapshot that was asked for.
type Image struct {
	Data []byte
}

// ImageBytes returns the size of an Image message with n bytes of Data.
func ImageBytes(n int) int {
	const lengthBytes = 4
	return lengthBytes + n
}

// Restored says that the image was accepted and its guest waits for a Turn.
type Restored struct{}

// Fault says that the worker could not do what it was asked, for a reason that
// is not the guest's. Code and Reason use the contract's words.
type Fault struct {
	Code, Reason, Message string
}
