package output

import (
	"fmt"
	"io"
	"os"
	"time"
)

// millis writes a time in milliseconds for people.
func millis(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// Count writes a number of things, such as 1 call or 2 calls.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// dim returns a line in a dim colour if w is a terminal that may have colours.
func dim(w io.Writer, line string) string {
	if !IsTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return line
	}
	return "\x1b[2m" + line + "\x1b[0m"
}
