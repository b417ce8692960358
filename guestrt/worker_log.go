package guestrt

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
)

const (
	// maxLogLine and maxLogLines bound what one process may put into the log;
	// what comes after is read and dropped.
	maxLogLine  = 1 << 10
	maxLogLines = 200
	// tooManyLines is more than a dying worker says. A worker that says more
	// keeps the host busy, and is killed.
	tooManyLines = 10 * maxLogLines
	// maxLastOutput is how much of the log helps to classify an ending.
	maxLastOutput = 4 << 10
)

// fatalErrors are how the Go runtime, and its part for cgo, start the last line of a program.
var fatalErrors = [][]byte{[]byte("fatal error: "), []byte("runtime/cgo: ")}

// copyLog logs what a worker writes until the pipe ends, and returns the words it
// died with: a dying Go program says what is wrong before it prints its stacks. It
// calls flooded once if there are more than tooManyLines.
func copyLog(r io.Reader, logger *slog.Logger, flooded func()) string {
	var words strings.Builder
	lines, b := 0, bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := b.ReadSlice('\n')
		if slices.ContainsFunc(fatalErrors, func(start []byte) bool { return bytes.HasPrefix(line, start) }) {
			words.Reset() // whatever it said before, this is what it dies of
		}
		if words.Len() < maxLastOutput {
			words.Write(line)
		}
		if len(line) > 0 { // blank lines count: reading them costs the host as much
			switch lines++; {
			case lines < maxLogLines:
				if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "?")); text != "" {
					logger.LogAttrs(context.Background(), slog.LevelWarn, "guest worker", slog.String("line", text))
				}
			case lines == maxLogLines:
				logger.LogAttrs(context.Background(), slog.LevelWarn, "guest worker writes too much; the rest is dropped")
			case lines == tooManyLines:
				flooded()
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			return words.String()
		}
	}
}
