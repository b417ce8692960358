// Package sandbox takes away from a guest worker what it does not need, before
// it reads the first byte a model wrote.
//
// Seal is called once, by the worker, after its engine is warm and before it
// says Ready. It applies one layer after another and reports each as on, off or
// failed; a layer that is not applied is never reported as on. Attributes is
// the part only the parent can do: it starts the worker under another user.
//
// What is applied today, on Linux: an unprivileged user (when the host is
// root), an empty environment, file descriptors exactly 0 to 3, no_new_privs, no
// core dumps and no tracing, and resource limits. The layers "namespaces",
// "landlock" and "seccomp" are reported as off. On other systems every layer is
// reported as off.
//
// Memory: the limits set by Seal allow the largest guest; LimitMemory lowers the
// data limit to what the cell at hand may use.
package sandbox
