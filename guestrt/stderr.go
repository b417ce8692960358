package guestrt

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
)

const (
	// maxLogLine and maxLogLines bound what one process may put into the log;
	// what comes after is read and dropped.
	maxLogLine  = 1 << 10
	maxLogLines = 200
	// maxLastWords is how much of the log helps to classify an ending.
	maxLastWords = 4 << 10
)

// copyLog logs what a worker writes until the pipe ends, and returns its first
// words: a dying Go program says what is wrong before it prints its stacks.
func copyLog(r io.Reader, logger *slog.Logger) string {
	var words strings.Builder
	lines, b := 0, bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := b.ReadSlice('\n')
		if words.Len() < maxLastWords {
			words.Write(line)
		}
		if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "?")); text != "" {
			switch lines++; {
			case lines < maxLogLines:
				logger.LogAttrs(context.Background(), slog.LevelWarn, "guest worker", slog.String("line", text))
			case lines == maxLogLines:
				logger.LogAttrs(context.Background(), slog.LevelWarn, "guest worker writes too much; the rest is dropped")
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			return words.String()
		}
	}
}
