package codemode

// Telemetry counts what a run has done so far, over all its results. It holds no
// inputs, outputs or secrets.
type Telemetry struct {
	// CatalogSize is how many tools the run could reach, Sources how many of
	// them come from where: quoin, mcp, client.
	CatalogSize int            `json:"catalogSize"`
	Sources     map[string]int `json:"sources"`
	// Counts of tools.search, tools.describe, calls through tools, and calls
	// through namespaces.
	SearchCount    int `json:"searchCount"`
	DescribeCount  int `json:"describeCount"`
	CallCount      int `json:"callCount"`
	NamespaceCount int `json:"namespaceCount"`
	// VisibleTools are what the model itself is shown.
	VisibleTools []string `json:"visibleTools"`
	// GuestCPUMillis is processor time of the worker while it served the run, as the
	// host measured it; WallMillis is the time spent
	// inside Exec and Wait. Both in milliseconds.
	GuestCPUMillis float64 `json:"guestCpuMs"`
	WallMillis     float64 `json:"wallMs"`
	// ApprovalCount is how many calls a person was asked about;
	// ApprovalWaitMillis how long decisions were waited for, during which the
	// deadline was paused. In milliseconds.
	ApprovalCount      int     `json:"approvalCount"`
	ApprovalWaitMillis float64 `json:"approvalWaitMs"`
	// PeakHeapBytes is the most the guest's heap held; SnapshotBytes the size of
	// the newest image, 0 before the first.
	PeakHeapBytes uint64    `json:"peakHeapBytes"`
	SnapshotBytes int       `json:"snapshotBytes"`
	Isolation     Isolation `json:"isolation"`
	Engine        Engine    `json:"engine"`
}

// Engine is the JavaScript engine of the worker that ran the guest.
type Engine struct {
	// Name is default or native, as the configuration calls it. Before a worker ran it
	// is the word that the tier of Isolation has then.
	Name string `json:"name"`
	// ID is the name of the engine itself, its version and the format of its
	// snapshots, as the worker has said it.
	ID string `json:"id,omitempty"`
}

// Isolation is how the worker that ran the guest was confined, as the worker
// reported it before it read the program.
type Isolation struct {
	Tier   string            `json:"tier"`
	Layers map[string]string `json:"layers"`
}

// NewTelemetry returns the telemetry of a run that has done nothing. Its maps and lists
// are empty rather than nil.
func NewTelemetry() Telemetry {
	return Telemetry{
		Sources:      map[string]int{},
		VisibleTools: []string{"exec", "wait"},
		Isolation:    Isolation{Tier: "none", Layers: map[string]string{}},
		Engine:       Engine{Name: "none"},
	}
}
