//go:build quickjs_sanitize

package hosttest

// buildGuest are the arguments with which the Go tool builds the guest worker that has
// the native engine and sanitizers.
func buildGuest(bin string) []string {
	return []string{"run", "github.com/quoinhq/quoin/guestrt/cmd/quoin-native", "-sanitize", "-o", bin}
}

// GuestSealed says that the guest worker seals itself.
const GuestSealed = false

// DefaultGuest is Guest for the default engine.
func DefaultGuest() (string, error) { return guest("quoin-guest-default", buildDefaultGuest) }
