//go:build !quickjs_c && !quickjs_sanitize

package hosttest

// buildGuest are the arguments with which the Go tool builds the guest worker.
func buildGuest(bin string) []string { return buildDefaultGuest(bin) }

// DefaultGuest is Guest for the default engine.
func DefaultGuest() (string, error) { return Guest() }

// GuestSealed says that the guest worker seals itself.
const GuestSealed = true
