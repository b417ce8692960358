//go:build quickjs_sanitize

package hosttest

const guestName = "quoin-guest-sanitize"

// buildGuest are the arguments with which the Go tool builds the guest worker that has
// the native engine and sanitizers.
func buildGuest(bin string) []string {
	return []string{"run", "-pgo=off", module + "/guestrt/cmd/quoin-native", "-sanitize", "-o", bin}
}

// GuestSealed says that the guest worker seals itself.
const GuestSealed = false
