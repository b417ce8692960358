// Package childprocess starts programs that cannot outlive the host or act behind its
// back: plugins, and MCP servers that speak over their standard streams. It is
// for the packages of this module that own such programs.
//
// A [Process] leads a process group of its own, and the kernel kills it when the
// host dies, even by SIGKILL. It inherits no descriptor next to the three standard
// streams it is given. When it ends, what is left of its group is killed before
// it is reaped, so that the number of the group cannot be another's by then.
// A descendant that leaves the group escapes; who holds a pipe to one must stop
// reading at a deadline.
//
// Only Linux has what this needs; elsewhere [Start] refuses.
package childprocess
