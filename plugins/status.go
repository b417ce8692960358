package plugins

// State is where a plugin is in its life.
type State uint8

// The states of a supervised plugin.
const (
	// StateStarting: the first process is coming up.
	StateStarting State = iota
	// StateRunning: calls are served.
	StateRunning
	// StateRestarting: the process died and another is on its way. Tools and
	// namespaces stay; calls fail until it is there.
	StateRestarting
	// StateDisabled: refused, or died too often. It offers nothing.
	StateDisabled
	// StateStopped: the supervisor was closed.
	StateStopped
)

var stateNames = [...]string{"starting", "running", "restarting", "disabled", "stopped"}

// String returns the lower-case word for s.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Status is what a supervisor knows about one plugin at one moment.
type Status struct {
	// ID is the name of the plugin's folder.
	ID string
	// Dir is the plugin's folder.
	Dir string
	// Version is the manifest's; empty if the manifest cannot be read.
	Version string
	State   State
	// Reason says why the plugin is disabled or restarting. A host also says here
	// why it refuses the namespaces of one that runs.
	Reason string
	// Generation counts what was put into service under this id: the plugin as
	// first loaded, reloads, development plugins, also those that failed to load.
	Generation int
	// LastError says why the last reload failed; empty after one that did not.
	LastError string
	// Development: a plugin from another folder, Dir, stands in for the one
	// installed.
	Development bool
	// Pinned: the plugin starts only as what quoin.lock or a trusted signature says.
	Pinned bool
	// Signer is the key that has signed a pinned plugin; zero if it is not signed.
	Signer PublicKey
	// Restarts counts the processes of this generation started after the first.
	Restarts int
	// PID is the live process's number; empty without one.
	PID string
	// Tools and Namespaces are the names on offer.
	Tools      []string
	Namespaces []string
}
