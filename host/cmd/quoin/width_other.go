//go:build !unix

package main

import (
	"io"
	"os"
)

// widthOf knows no terminals here: what is printed stays.
func widthOf(io.Writer) func() int { return nil }

// isTerminal reports whether w is a character device, which is a terminal more often
// than not.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
