package celltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxSource bounds a cell's file in bytes.
const maxSource = 1 << 20

// Cell is a program and what is expected of it.
type Cell struct {
	// Name is the file's name.
	Name string
	// Path is where it was read from.
	Path string
	// Code is the whole file.
	Code string
	// Language is "javascript" or "typescript".
	Language string

	want    *directive // want or want-error; nil if there is no such line
	outputs []directive
}

// directive is one expectation and the lines it stands in.
type directive struct {
	word       string
	first, end int // lines from 0; end is the line after it
	text       string
	value      any // of want and want-output
}

var languages = map[string]string{".ts": "typescript", ".js": "javascript"}

// Load reads the cells of a directory that match, in order of name. A directory
// that is not there has no cells; nil matches all.
func Load(dir string, match *regexp.Regexp) ([]*Cell, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cells []*Cell
	for _, e := range entries {
		language := languages[filepath.Ext(e.Name())]
		if language == "" || strings.HasSuffix(e.Name(), ".d.ts") || match != nil && !match.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(b) > maxSource {
			return nil, fmt.Errorf("%s is longer than the %d bytes a program may have", path, maxSource)
		}
		c := &Cell{Name: e.Name(), Path: path, Code: string(b), Language: language}
		if err := c.parse(); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

var opening = regexp.MustCompile(`^\s*//\s*(want(?:-[a-z]+)?):(.*)$`)

var continuation = regexp.MustCompile(`^\s*//(.*)$`)

// parse finds the expectations.
func (c *Cell) parse() error {
	c.want, c.outputs = nil, nil
	lines := strings.Split(strings.ReplaceAll(c.Code, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		m := opening.FindStringSubmatch(lines[i])
		if m == nil {
			i++
			continue
		}
		d := directive{word: m[1], first: i, end: i + 1, text: strings.TrimSpace(m[2])}
		if err := c.read(&d, lines); err != nil {
			return fmt.Errorf("%s:%d: %w", c.Path, i+1, err)
		}
		i = d.end
	}
	return nil
}

// read reads one expectation, which may continue in the lines below it.
func (c *Cell) read(d *directive, lines []string) error {
	switch d.word {
	case "want", "want-output":
		if err := d.readValue(lines); err != nil {
			return err
		}
	case "want-error":
		if d.text == "" {
			return errors.New("want-error has no code: write the code or reason of the failure, such as guest_exception")
		}
	default:
		return fmt.Errorf("there is no %s, expected one of want, want-output, want-error", d.word)
	}
	if d.word == "want-output" {
		c.outputs = append(c.outputs, *d)
		return nil
	}
	if c.want != nil {
		return fmt.Errorf("%s in line %d is there already: a cell ends in one way", c.want.word, c.want.first+1)
	}
	c.want = d
	return nil
}

// readValue takes as many lines as the JSON needs.
func (d *directive) readValue(lines []string) error {
	text := d.text
	for {
		v, err := decode([]byte(text))
		if err == nil {
			d.text, d.value = text, v
			return nil
		}
		if d.end == len(lines) || opening.MatchString(lines[d.end]) {
			return fmt.Errorf("what is wanted is not JSON: %w", err)
		}
		m := continuation.FindStringSubmatch(lines[d.end])
		if m == nil {
			return fmt.Errorf("what is wanted is not JSON: %w", err)
		}
		text += "\n" + m[1]
		d.end++
	}
}

// decode reads one JSON value and keeps numbers as they are written.
func decode(b []byte) (any, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}
