package devloop

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Screen is where a loop prints: what stays, and one block at the end that the next
// one replaces. On anything but a terminal nothing can be replaced, and a block is
// printed unless it is the one before.
type Screen struct {
	// Out takes everything.
	Out io.Writer
	// Width is the number of columns of a terminal; nil or zero means that Out is
	// none.
	Width func() int

	rows int    // of the block that can be replaced
	last string // the block that was printed last
}

// Print prints text that stays.
func (s *Screen) Print(text string) error {
	s.last = ""
	return s.write(s.erase() + text)
}

// Block prints text in place of the block before.
func (s *Screen) Block(text string) error {
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

func (s *Screen) width() int {
	if s.Width == nil {
		return 0
	}
	return s.Width()
}

// erase moves to where the block begins and clears what follows.
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
		columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")) + 7*strings.Count(line, "\t")
		n += max(1, (columns+width-1)/width)
	}
	return n
}
