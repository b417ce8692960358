//go:build !unix

package trajectory

import "os"

// locked runs do. Processes that write the same run at the same time are kept apart
// by the claim on the run alone.
func locked(_ *os.File, _ bool, do func() error) error { return do() }
