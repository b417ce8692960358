package sandbox

import "github.com/quoinhq/quoin/internal/wire"

// The names of the layers, in the order they are applied and reported.
const (
	LayerUser         = "user"         // not root
	LayerEnvironment  = "environment"  // exactly the variables of Env
	LayerFiles        = "descriptors"  // exactly the descriptors 0 to 4
	LayerNamespaces   = "namespaces"   // user, pid, net, mount, ipc, uts, cgroup
	LayerRoot         = "root"         // an empty, read-only file system
	LayerDumpable     = "dumpable"     // no core dump, no tracing by the same user
	LayerLimits       = "rlimits"      // cores, files, data, stack, address space, threads
	LayerCapabilities = "capabilities" // no capabilities
	LayerPrivileges   = "no_new_privs" // no gain of privileges by exec
	LayerLandlock     = "landlock"     // no file access by path, no TCP, no abstract sockets
	LayerSeccomp      = "seccomp"      // system call filter
)

// LayerCgroup is the one optional layer the host applies: a control group with
// memory and process limits. It is reported after the others.
const LayerCgroup = "cgroup"

// Policy says what Seal must achieve.
type Policy struct {
	// MemoryBytes is the largest guest heap the worker will serve; 0 means the
	// contract's maximum of 1 GiB.
	MemoryBytes uint64
}

// Env returns the whole environment of a worker. One processor keeps the Go
// runtime from reading CPU limits while a guest runs, and UTC keeps the clock
// from reading time zone files.
func Env() []string {
	return []string{"GOMAXPROCS=1", "GODEBUG=updatemaxprocs=0,containermaxprocs=0", "TZ=UTC"}
}

// Unsealed reports every layer as off for the given reason.
func Unsealed(reason string) []wire.Layer {
	layers := make([]wire.Layer, 0, len(layerNames))
	for _, n := range layerNames {
		layers = append(layers, wire.Layer{Name: n, State: wire.LayerOff, Detail: reason})
	}
	return layers
}

var layerNames = []string{LayerUser, LayerEnvironment, LayerFiles, LayerNamespaces, LayerRoot, LayerDumpable,
	LayerLimits, LayerCapabilities, LayerPrivileges, LayerLandlock, LayerSeccomp}

// Tier sums the layers up in one letter: A is everything but LayerCgroup; B
// lacks namespaces or the empty root; C also lacks Landlock; D lacks the system
// call filter or one of the layers every system of ours has, and is no isolation
// to rely on.
func Tier(layers []wire.Layer) string {
	on := map[string]bool{}
	for _, l := range layers {
		on[l.Name] = l.State == wire.LayerOn
	}
	for _, name := range indispensable {
		if !on[name] {
			return "D"
		}
	}
	switch {
	case on[LayerNamespaces] && on[LayerRoot] && on[LayerLandlock]:
		return "A"
	case on[LayerLandlock]:
		return "B"
	default:
		return "C"
	}
}

// The bytes behind the limits.
const (
	// dataBase is what the Go runtime and the transform may take in addition
	// to what the warm worker holds.
	dataBase = 160 << 20
	// runtimeBase is the part of dataBase that the Go runtime tries to keep to.
	runtimeBase = 96 << 20
	// maxGuestMemory is the largest guest memory limit the contract allows.
	maxGuestMemory = 1 << 30
	addressSpace   = 4 << 30
)

const (
	// GroupMemory is the memory limit of a worker's control group, in bytes: a
	// backstop above the data limit of the largest guest, which also counts
	// shared and kernel memory.
	GroupMemory = dataBase + maxGuestMemory*3/2 + 256<<20
	// GroupThreads is its limit of threads, a backstop above MaxThreads.
	GroupThreads = 64
	// MaxThreads is how many threads a worker may have. It has a handful. The
	// kernel keeps a worker to it where it can count them for one worker alone;
	// elsewhere only its host does: see UsageOf.
	MaxThreads = 32
)

// Usage is what a process uses.
type Usage struct {
	Memory  uint64 // private memory in bytes that it has touched, swapped out or not
	Threads int
	// Hidden reports that the first thread has ended and others have not: the kernel
	// then tells no memory. No worker does this that has not left its code; it is also
	// what a process looks like that is being killed, for which this is false.
	Hidden bool
}

// MemoryFor returns how much private memory, in bytes, a worker can have touched
// for a guest heap of memoryBytes without having left its code: the heap, and what
// the data limit leaves to the rest.
func MemoryFor(memoryBytes uint64) uint64 {
	const warm = 64 << 20 // more than a warm worker has touched
	return dataLimit(warm, memoryBytes) + memoryBytes
}

// dataLimit returns the private memory, in bytes, that a worker may have for a
// guest heap of memoryBytes, when it has held bytes with an empty one. The heap
// itself lies in a mapping that is part of held. What is added must hold, one at a
// time, twice an image of the heap, and twice a report: docs/reference/security.md has the sum.
func dataLimit(held, memoryBytes uint64) uint64 {
	return held + dataBase + boundGuest(memoryBytes)*3/2
}

// RuntimeMemory returns the memory, in bytes, that the Go runtime of a worker with
// a guest heap of memoryBytes should keep to. It collects more often before it takes
// more, which matters because the data limit counts what it has ever mapped. The rest
// below the data limit is for the stacks of the engine and for peaks.
func RuntimeMemory(memoryBytes uint64) int64 {
	return int64(runtimeBase + boundGuest(memoryBytes))
}

func boundGuest(memoryBytes uint64) uint64 {
	if memoryBytes == 0 || memoryBytes > maxGuestMemory {
		return maxGuestMemory
	}
	return memoryBytes
}
