package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/wire"
)

// indispensable are the layers without which there is no isolation to rely on:
// every supported system can give them to any user.
var indispensable = []string{LayerUser, LayerEnvironment, LayerFiles, LayerDumpable, LayerLimits,
	LayerCapabilities, LayerPrivileges, LayerSeccomp}

const (
	// landlockDetail is how Seal reports the Landlock version it got.
	landlockDetail = "version %d"
	// leastLandlock is the first version that also forbids TCP, and with it
	// stands in for namespaces.
	leastLandlock = abiNet
)

// abiNet is the Landlock version that brought rules for TCP.
const abiNet = 4

// Missing is a layer that required isolation needs and a worker lacks.
type Missing struct {
	wire.Layer        // its state, and why
	Remedy     string // what would enable it
}

// String names the layer, says why it is missing and what would enable it.
func (m Missing) String() string {
	return fmt.Sprintf("%s is %s (%s); it needs %s", m.Name, m.State, m.Detail, m.Remedy)
}

// Lacking returns what keeps a worker with these layers from being isolated as
// required: the layers of tier C, and in addition namespaces or Landlock of at
// least version 4. Without either of the two, both are returned. Nothing
// missing is nil.
func Lacking(layers []wire.Layer) []Missing {
	var missing []Missing
	for _, name := range indispensable {
		if m := find(layers, name); m.State != wire.LayerOn {
			missing = append(missing, m)
		}
	}
	names, landlock := find(layers, LayerNamespaces), find(layers, LayerLandlock)
	if names.State == wire.LayerOn || strongLandlock(landlock.Layer) {
		return missing
	}
	if landlock.State == wire.LayerOn {
		landlock.State = wire.LayerOff
		landlock.Detail += fmt.Sprintf(", at least version %d counts", leastLandlock)
	}
	return append(missing, names, landlock)
}

// LackingGroup returns what Lacking does, and the layer cgroup if it is missing.
func LackingGroup(layers []wire.Layer) []Missing {
	missing := Lacking(layers)
	if m := find(layers, LayerCgroup); m.State != wire.LayerOn {
		missing = append(missing, m)
	}
	return missing
}

// find returns a layer as it was reported, with what would enable it.
func find(layers []wire.Layer, name string) Missing {
	i := slices.IndexFunc(layers, func(l wire.Layer) bool { return l.Name == name })
	if i < 0 {
		return Missing{wire.Layer{Name: name, State: wire.LayerOff, Detail: "not reported"}, "a guest worker of this host's build"}
	}
	return Missing{layers[i], Remedy(name)}
}

func strongLandlock(l wire.Layer) bool {
	var version int
	n, err := fmt.Sscanf(l.Detail, landlockDetail, &version)
	return l.State == wire.LayerOn && err == nil && n == 1 && version >= leastLandlock
}

// Explain says in one paragraph why a policy of isolation refuses a worker. An
// empty policy is "required".
func Explain(policy string, missing []Missing) string {
	if policy == "" {
		policy = "required"
	}
	parts := make([]string, 0, len(missing))
	either := map[string]bool{}
	for _, m := range missing {
		parts = append(parts, m.String())
		either[m.Name] = true
	}
	text := "isolation is " + policy + ", and the worker lacks " + list(missing) + ": " + strings.Join(parts, ". ")
	if either[LayerNamespaces] && either[LayerLandlock] {
		text += ". One of namespaces and landlock is enough"
	}
	return text + "."
}

func list(missing []Missing) string {
	names := make([]string, 0, len(missing))
	for _, m := range missing {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// Need is how much required isolation depends on a layer.
type Need string

// The needs.
const (
	NeedAlways   Need = "yes"    // nothing stands in for it
	NeedEither   Need = "either" // namespaces or Landlock, one is enough
	NeedOptional Need = "no"     // it adds to the others
)

// Needed returns how much required isolation depends on the named layer.
func Needed(name string) Need {
	switch {
	case slices.Contains(indispensable, name):
		return NeedAlways
	case name == LayerNamespaces || name == LayerLandlock:
		return NeedEither
	}
	return NeedOptional
}

// Remedy says what a layer needs that is not in force. It is empty for a layer
// no one knows.
func Remedy(name string) string { return remedies[name] }

const (
	noCgo     = "a guest worker built with CGO_ENABLED=0, or the native one that quoin-native builds"
	container = "a container profile that allows "
)

var remedies = map[string]string{
	LayerUser:        "a host that is not root, or is root and may change user (CAP_SETUID and CAP_SETGID)",
	LayerEnvironment: "a worker that nothing but its host starts; no one may add to its environment",
	LayerFiles:       "Linux 5.9 or newer, and " + container + "close_range",
	LayerNamespaces: "user namespaces: sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 where it exists, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with userns for the host on Ubuntu, and " + container + "clone with new namespaces",
	LayerRoot:         "the layer namespaces, a mounted /proc, and " + container + "mount, umount2 and pivot_root",
	LayerDumpable:     container + "prctl",
	LayerLimits:       "a mounted /proc, and " + container + "prlimit64",
	LayerCapabilities: noCgo + ", and " + container + "capset",
	LayerPrivileges:   noCgo + ", and " + container + "prctl",
	LayerLandlock: fmt.Sprintf("Linux 6.7 or newer (Landlock version %d) with landlock among the security modules of the boot line lsm=, ",
		leastLandlock) + container + "its system calls, and " + noCgo,
	LayerSeccomp: "a kernel with CONFIG_SECCOMP_FILTER on amd64 or arm64, " + container + "seccomp, and " + noCgo,
	LayerCgroup: "a cgroup v2 subtree delegated to the host, with the controllers memory and pids " +
		"(systemd: Delegate=memory pids, and DelegateSubgroup=host)",
}
