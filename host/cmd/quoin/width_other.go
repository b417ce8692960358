//go:build !unix

package main

import "io"

// widthOf knows no terminals here: what is printed stays.
func widthOf(io.Writer) func() int { return nil }
