package hosttest

import (
	"fmt"
	"os"
	"strings"
)

// Table reads the table with head in its first cell from a Markdown file: the cells
// of each row below the head, without the quotes of code.
func Table(file, head string) ([][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	inside := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			if inside {
				return rows, nil
			}
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		case cells[0] == head:
			inside = true
		}
	}
	if !inside {
		return nil, fmt.Errorf("%s has no table that starts with %q", file, head)
	}
	return rows, nil
}
