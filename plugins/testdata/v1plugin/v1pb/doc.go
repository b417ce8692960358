// Package v1pb is plugin.proto as protocol version 1 had it, with the code that was
// made of it. It stays as it is: it is what plugins out there were built with.
package v1pb
