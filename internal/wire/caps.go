package wire

// The caps of protocol version 4. A message beyond one of them cannot be sent
// and is refused when received.
const (
	// MaxFrame is the most payload bytes one frame carries.
	MaxFrame = 1 << 20
	// MaxReport is the most bytes one encoded Report may have.
	MaxReport = 64 << 20
	// MaxTurn is the most bytes the settlements of one Turn may have.
	MaxTurn = 64 << 20
	// MaxSource is the most bytes an encoded Start, source included, may have.
	MaxSource = 16 << 20
	// MaxFile is the most bytes of one virtual file.
	MaxFile = 64 << 20
	// MaxImage is the most bytes of one snapshot image.
	MaxImage = 256 << 20
	// MaxTrace is the most bytes of the trace of one turn.
	MaxTrace = 256 << 10
	// MaxSmall bounds every other message.
	MaxSmall = 64 << 10

	// MaxRequests is the most requests one Report may carry: 4096 calls, and one
	// that gives calls up.
	MaxRequests = 4096 + 1
	// MaxSettlements is the most settlements one Turn may carry.
	MaxSettlements = 8192
	// MaxOutputItems is the most output items one Report may carry.
	MaxOutputItems = 1 << 20
	// MaxPathSegments is the most segments a namespace path may have.
	MaxPathSegments = 64
	// MaxPathBytes is the most bytes one segment or one file path may have.
	MaxPathBytes = 4096
	// MaxTarget is the most bytes of a request's target.
	MaxTarget = 64 << 10
	// MaxErrorText is the most bytes of one text field of a GuestError or Fault.
	MaxErrorText = 16 << 10
	// MaxPending is the most calls a guest may say it waits for.
	MaxPending = 1 << 20
	// MaxTimerMillis is the latest timer a Report may have, as in JavaScript.
	MaxTimerMillis = 1<<31 - 1
	// MaxHeap is the largest heap a Report may claim, beyond the heap of any engine.
	MaxHeap = 4 << 30
	// MaxNamespaces is the most namespaces one cell may have.
	MaxNamespaces = 4096
	// MaxLayers is the most layers a Ready may list.
	MaxLayers = 64
)
