package scaffold

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/namespaces"
)

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Names are what a plugin's id is elsewhere.
type Names struct {
	// ID is the plugin's id, its folder and its binary, such as "road-works".
	ID string
	// Tool is the prefix of the names of its tools, such as "road_works".
	Tool string
	// Global is the name of its namespace in cells, such as "RoadWorks".
	Global string
}

// NamesOf derives the names of a plugin from its id, or says what is wrong with it.
func NamesOf(id string) (Names, error) {
	switch {
	case !idPattern.MatchString(id) || strings.HasSuffix(id, "-") || strings.Contains(id, "--"):
		return Names{}, fmt.Errorf("%q is no name for a plugin: expected a lower-case letter, then up to 62 lower-case letters, digits and single hyphens, such as %q", id, suggest(id))
	case id == catalog.OwnerCore:
		return Names{}, fmt.Errorf("%q is the owner of built-in tools: choose another name, such as %q", id, "my-"+id)
	}
	n := Names{ID: id, Tool: strings.ReplaceAll(id, "-", "_")}
	for part := range strings.SplitSeq(id, "-") {
		n.Global += strings.ToUpper(part[:1]) + part[1:]
	}
	if namespaces.IsReserved(n.Global) {
		n.Global += "Plugin"
	}
	return n, nil
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// suggest is the name nearest to one that will not do.
func suggest(name string) string {
	s := strings.Trim(unfit.ReplaceAllString(strings.ToLower(name), "-"), "-0123456789")
	if len(s) > 63 {
		s = strings.TrimRight(s[:63], "-")
	}
	if s == "" || s == catalog.OwnerCore {
		return "weather"
	}
	return s
}
