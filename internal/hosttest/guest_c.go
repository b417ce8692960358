//go:build quickjs_c && !quickjs_sanitize

package hosttest

const guestName = "quoin-guest-native"

// buildGuest are the arguments with which the Go tool builds the guest worker that has
// the native engine.
func buildGuest(bin string) []string { return buildNativeGuest(bin) }

// GuestSealed says that the guest worker seals itself.
const GuestSealed = true
