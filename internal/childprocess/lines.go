package childprocess

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is how many bytes of one line are kept; the rest is read and dropped.
const MaxLine = 16 << 10

// ReadLines calls each for every line of r, without its end and cut to
// MaxLine, until r ends. It never stops early: a full pipe would block
// its writer.
func ReadLines(r io.Reader, each func(line []byte, cut bool)) error {
	in := bufio.NewReaderSize(r, 32<<10)
	line := make([]byte, 0, MaxLine)
	cut := false
	for {
		chunk, err := in.ReadSlice('\n')
		ended := err == nil
		if ended {
			chunk = chunk[:len(chunk)-1]
		}
		room := MaxLine - len(line)
		if len(chunk) > room {
			chunk, cut = chunk[:room], true
		}
		line = append(line, chunk...)
		switch {
		case ended:
			each(line, cut)
			line, cut = line[:0], false
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			if len(line) > 0 {
				each(line, cut)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// LineWriter hands complete lines of what is written to it to Each. It is for
// one writer at a time.
type LineWriter struct {
	Each func(line []byte, cut bool)

	line []byte
	cut  bool
}

// Write never fails.
func (w *LineWriter) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n':
			w.Each(w.line, w.cut)
			w.line, w.cut = w.line[:0], false
		case len(w.line) < MaxLine:
			w.line = append(w.line, b)
		default:
			w.cut = true
		}
	}
	return len(p), nil
}
