package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A patch is in the unified format. What counts of a hunk is its text, not its line
// numbers: the lines that it wants to find must occur exactly once. So two patches do
// not depend on each other's line numbers, and none applies to a place that it was not
// made for.

// hunk is one replacement in one file.
type hunk struct {
	file     string
	from, to []byte
}

// patchAll applies every patch, in the order of their names.
func (s source) patchAll(patches fs.FS) error {
	names, err := fs.Glob(patches, "patches/*.patch")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(patches, name)
		if err != nil {
			return err
		}
		if err := s.patch(string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// patch applies one patch.
func (s source) patch(text string) error {
	hunks, err := readPatch(text)
	if err != nil {
		return err
	}
	for i, h := range hunks {
		old, ok := s[h.file]
		if !ok {
			return fmt.Errorf("hunk %d: the source has no file %s", i+1, h.file)
		}
		if n := bytes.Count(old, h.from); n != 1 {
			return fmt.Errorf("hunk %d: its lines occur %d times in %s, expected once", i+1, n, h.file)
		}
		s[h.file] = bytes.Replace(old, h.from, h.to, 1)
	}
	return nil
}

// readPatch reads the hunks of a patch. Lines before the first file are its comment.
func readPatch(text string) ([]hunk, error) {
	var hunks []hunk
	file, inHunk := "", false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "--- "):
			inHunk = false
		case strings.HasPrefix(line, "+++ "):
			file = strings.TrimPrefix(strings.TrimSpace(line[len("+++ "):]), "b/")
		case strings.HasPrefix(line, "@@ "):
			if file == "" {
				return nil, errors.New("a hunk belongs to no file")
			}
			hunks = append(hunks, hunk{file: file})
			inHunk = true
		case inHunk:
			if err := hunks[len(hunks)-1].add(line); err != nil {
				return nil, err
			}
		}
	}
	for i, h := range hunks {
		if len(h.from) == 0 || bytes.Equal(h.from, h.to) {
			return nil, fmt.Errorf("hunk %d changes nothing", i+1)
		}
	}
	if len(hunks) == 0 {
		return nil, errors.New("it has no hunk")
	}
	return hunks, nil
}

// add takes in a line of a hunk. Some editors remove the space of an empty line.
func (h *hunk) add(line string) error {
	switch line[0] {
	case ' ':
		h.from, h.to = append(h.from, line[1:]...), append(h.to, line[1:]...)
	case '\n':
		h.from, h.to = append(h.from, '\n'), append(h.to, '\n')
	case '-':
		h.from = append(h.from, line[1:]...)
	case '+':
		h.to = append(h.to, line[1:]...)
	default:
		return fmt.Errorf("line %q of a hunk starts with no sign", line)
	}
	return nil
}
