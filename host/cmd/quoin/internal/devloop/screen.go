package devloop

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Screen is where a loop prints: what stays, and one block at the end that the next
// one replaces. On anything but a terminal nothing can be replaced, and a block is
// printed unless it is the one before. It is safe for concurrent use.
type Screen struct {
	// Out takes everything.
	Out io.Writer
	// Width is the number of columns of a terminal; nil or zero means that Out is
	// not a terminal.
	Width func() int

	mu   sync.Mutex
	rows int    // of the block that can be replaced
	last string // the block that was printed last
}

// Print prints text that stays.
func (s *Screen) Print(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = ""
	return s.write(s.erase() + text)
}

// Above returns a writer for whole lines that are not the loop's own, such as a log.
// They go to w, above the block that can be replaced.
func (s *Screen) Above(w io.Writer) io.Writer { return &above{s, w} }

type above struct {
	screen *Screen
	w      io.Writer
}

func (a *above) Write(p []byte) (n int, err error) {
	s := a.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.rows
	if rows > 0 {
		if err := s.write(s.erase()); err != nil {
			return 0, err
		}
	}
	n, err = a.w.Write(p)
	if rows > 0 && err == nil {
		s.rows = rows
		err = s.write(s.last)
	}
	return n, err
}

// Block prints text in place of the block before.
func (s *Screen) Block(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.width()
	if width == 0 && text == s.last {
		return nil
	}
	s.last = text
	erase := s.erase()
	if width > 0 {
		s.rows = rows(text, width)
	}
	return s.write(erase + text)
}

// Status is Block for what is of no interest once it is over: only terminals show
// it.
func (s *Screen) Status(text string) error {
	if s.width() == 0 {
		return nil
	}
	return s.Block(text)
}

// Clear removes the block that could be replaced.
func (s *Screen) Clear() error { return s.Print("") }

// The styles of text on a output.
const (
	dim = "2"
	red = "31"
)

// styled marks text on a terminal, unless NO_COLOR is set.
func (s *Screen) styled(style, text string) string {
	if s.width() == 0 || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// stamp returns the time of day before the result of a save, on a terminal.
func (s *Screen) stamp(now time.Time) string {
	if s.width() == 0 {
		return ""
	}
	return s.styled(dim, now.Format("15:04:05")) + " "
}

// marks are what styled adds, which take no column.
var marks = regexp.MustCompile("\x1b\\[[0-9]*m")

func (s *Screen) width() int {
	if s.Width == nil {
		return 0
	}
	return s.Width()
}

// erase moves to the start of the block and clears what follows.
func (s *Screen) erase() string {
	if s.rows == 0 {
		return ""
	}
	rows := s.rows
	s.rows = 0
	return fmt.Sprintf("\x1b[%dA\x1b[J", rows)
}

func (s *Screen) write(text string) error {
	_, err := io.WriteString(s.Out, text)
	return err
}

// rows are the rows that text takes, which ends with an end of line.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		line = marks.ReplaceAllString(line, "")
		columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")) + 7*strings.Count(line, "\t")
		n += max(1, (columns+width-1)/width)
	}
	return n
}
