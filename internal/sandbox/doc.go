// Package sandbox takes away from a guest worker what it does not need, before
// it reads the first byte a model wrote.
//
// Attributes is the part only the parent can do: it starts the worker under an
// unprivileged user and in namespaces of its own. Seal is called once, by the
// worker, after its engine is warm and before it says Ready. It applies one layer
// after another and reports each as on, off or failed; a layer that is not in
// force is never reported as on. Tier sums the report up; Lacking names what
// required isolation misses, and Remedy what would enable a layer.
//
// # Layers on Linux
//
// An unprivileged user; an empty environment; descriptors exactly 0 to 4; user,
// pid, net, mount, ipc, uts and cgroup namespaces; an empty, read-only root;
// neither core dumps nor tracing; resource limits; no capabilities;
// no_new_privs; Landlock without any exception; and a system call filter that
// kills the process at every call that is not on its list. On other systems
// every layer is reported as off.
//
// The Go runtime opens a poller (descriptors 5 and 6) when it first needs a
// timer, which may be after the seal; the filter allows that and nothing else to
// make a descriptor. A program that serves as its own guest may have started the
// poller before the seal; then those descriptors stay open, too, and the report
// names them.
//
// # Memory
//
// The limits set by Seal allow the largest guest; LimitMemory lowers the data
// limit to what the cell at hand may use.
//
// # What it does not do
//
// It does not decide whether a host insists: that is the host's configuration.
// Lacking says what a report falls short of if it does.
//
// # With cgo
//
// The Go runtime cannot act on the threads of a process with cgo: it reports the
// layers concerned as failed or off. A build with the tag quickjs_c finds its threads
// itself, and lets through what the C library needs to make them. Nothing else of the
// C library is let through: see library_c_linux.go.
package sandbox
