//go:build !quickjs_c && !quickjs_sanitize

package hosttest

const guestName = "quoin-guest"

// buildGuest are the arguments with which the Go tool builds the guest worker.
func buildGuest(bin string) []string { return buildDefaultGuest(bin) }

// GuestSealed says that the guest worker seals itself.
const GuestSealed = true
