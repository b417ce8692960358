//go:build !unix

package output

import (
	"io"
	"os"
)

// Width returns nil: what is printed on this system is never rewritten.
func Width(io.Writer) func() int { return nil }

// IsTerminal reports whether w is a character device, which is a terminal more often
// than not.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
