//go:build !quickjs_c && !quickjs_sanitize

package hosttest

// buildGuest are the arguments with which the Go tool builds the guest worker.
func buildGuest(bin string) []string {
	return []string{"build", "-trimpath", "-buildvcs=false", "-buildmode=exe", "-ldflags=-buildid=", "-o", bin,
		"github.com/quoinhq/quoin/guestrt/cmd/quoin-guest"}
}

// GuestSealed says that the guest worker seals itself.
const GuestSealed = true
