package text

import (
	"fmt"
	"strings"
)

// Group is something that has parts, such as an owner of tools.
type Group struct {
	Name  string
	Note  string // stands behind the name where there is room
	Parts []string
	Count int // of all parts, those without a name included
}

// leastLine is the room from which a group has a line of its own, in bytes: with less
// there would be no room for names of parts.
const leastLine = 56

// Groups lists groups in at most n bytes: in a line each, with the names of as many parts
// as there is room for, or by name and count alone where groups are many.
//
//   - issues (12): issues_list, issues_get, …
//
// The lines share the room evenly. Rest says that so many groups are left out.
func Groups(groups []Group, n int, rest func(more int) string) string {
	if len(groups) == 0 {
		return ""
	}
	if n/len(groups) < leastLine {
		return groupNames(groups, n, rest)
	}
	var b strings.Builder
	for i, g := range groups {
		line := fmt.Sprintf("- %s (%d%s): ", g.Name, g.Count, g.Note)
		room := (n - b.Len()) / (len(groups) - i)
		b.WriteString(line + List(g.Parts, room-len(line)-1) + "\n")
	}
	return Cut(strings.TrimSuffix(b.String(), "\n"), n)
}

// groupNames lists groups by name and count, in a line.
func groupNames(groups []Group, n int, rest func(more int) string) string {
	var b strings.Builder
	for i, g := range groups {
		next := fmt.Sprintf("%s (%d)", g.Name, g.Count)
		if i > 0 {
			next = ", " + next
		}
		if more := rest(len(groups) - i); i < len(groups)-1 && b.Len()+len(next)+len(", ")+len(more) > n || b.Len()+len(next) > n {
			if i > 0 {
				more = ", " + more
			}
			return b.String() + more
		}
		b.WriteString(next)
	}
	return b.String()
}
