package confine

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// Options say what commands see and use.
type Options struct {
	// Write are directories that commands may change. Read are files and directories
	// that they may read, next to the system's. They have the same paths inside.
	Write, Read []string
	// Deny are paths that are hidden wherever Write or Read would show them.
	Deny []string
	// MemoryBytes bounds the memory of each process of a command, Processes their
	// number, FileBytes the size of a file. All three are needed.
	MemoryBytes, Processes, FileBytes int64
	// Required refuses to run where a layer cannot be had.
	Required bool
	// Proxy serves HTTP clients in the sandbox of a command with Network, until the
	// listener is closed. Nil means no network.
	Proxy func(net.Listener) error
}

// The names of the layers, in the order in which they are reported.
const (
	LayerNamespaces   = "namespaces"   // user, pid, mount, net, ipc, uts, cgroup
	LayerUser         = "user"         // not root to the machine
	LayerRoot         = "root"         // a private root
	LayerProc         = "proc"         // a /proc of its own
	LayerLimits       = "rlimits"      // processes, memory, files
	LayerCapabilities = "capabilities" // no capabilities
	LayerPrivileges   = "no_new_privs" // no gain of privileges by exec
	LayerLandlock     = "landlock"     // rules for files, below the mounts
	LayerSeccomp      = "seccomp"      // system call filter
)

var layerNames = []string{LayerNamespaces, LayerUser, LayerRoot, LayerProc, LayerLimits, LayerCapabilities, LayerPrivileges,
	LayerLandlock, LayerSeccomp}

// indispensable are the layers without which nothing runs.
var indispensable = []string{LayerNamespaces, LayerUser, LayerRoot, LayerCapabilities, LayerPrivileges, LayerSeccomp}

// Layer is a part of the sandbox.
type Layer struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
	// Detail says more, or why the layer is off.
	Detail string `json:"detail,omitempty"`
}

// Report says which layers a sandbox has.
type Report struct {
	// Tier is A with all layers, B without one of those that can be spared.
	Tier   string  `json:"tier"`
	Layers []Layer `json:"layers"`
}

// newReport sums up. The error names the layers that are missing and needed.
func newReport(layers []Layer, required bool) (Report, error) {
	r := Report{Tier: "A", Layers: layers}
	var missing []string
	for _, name := range layerNames {
		l := Layer{Name: name, Detail: "not reported"}
		if i := slices.IndexFunc(layers, func(l Layer) bool { return l.Name == name }); i >= 0 {
			l = layers[i]
		}
		if l.On {
			continue
		}
		r.Tier = "B"
		if required || slices.Contains(indispensable, l.Name) {
			missing = append(missing, l.Name+" ("+l.Detail+")")
		}
	}
	if len(missing) > 0 {
		return r, fmt.Errorf("the sandbox lacks %s", strings.Join(missing, ", "))
	}
	return r, nil
}
