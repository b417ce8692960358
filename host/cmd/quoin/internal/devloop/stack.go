package devloop

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// frame is one call of a stack: its function, and where it stands.
type frame struct{ function, file, line string }

// place is where a frame stands in a trace: a line that is indented, with the file,
// the line, and mostly an offset.
var place = regexp.MustCompile(`^\s+(.+):(\d+)(?: \+0x[0-9a-f]+)?$`)

// frames reads a stack as the Go runtime writes it: for each frame a line with the
// function, and one with the place. It returns no frames of other text.
func frames(stack string) []frame {
	var list []frame
	lines := strings.Split(stack, "\n")
	for i := 1; i < len(lines); i++ {
		m := place.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		name := strings.TrimSpace(lines[i-1])
		if cut := strings.LastIndexByte(name, '('); cut > 0 && strings.HasSuffix(name, ")") {
			name = name[:cut] // without the arguments
		}
		list = append(list, frame{name, m[1], m[2]})
	}
	return list
}

// foldedStack writes a stack for the author of the module that is developed in dir:
// the frames of the author's own code, and how many others there are. A stack of no
// known form is written as it is.
func foldedStack(stack, dir string) []string {
	all := frames(stack)
	if len(all) == 0 {
		return strings.Split(strings.TrimRight(stack, "\n"), "\n")
	}
	var lines []string
	for _, f := range all {
		if file, ok := f.own(dir); ok {
			lines = append(lines, fmt.Sprintf("%s:%s  %s", file, f.line, f.function))
		}
	}
	if n := len(all) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("… %d more of Go and of packages that it uses", n))
	}
	return lines
}

// own reports whether a frame is of the plugin itself, and names its file in the
// way an editor finds it from the plugin's folder. Builds with -trimpath name files
// by the paths of their packages, and files of other modules by a version.
func (f frame) own(dir string) (file string, ok bool) {
	if rel, err := filepath.Rel(dir, f.file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), true
	}
	if strings.HasPrefix(f.function, "main.") {
		return filepath.Base(f.file), true
	}
	return "", false
}
