package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// Options configure a Catalog. The zero value is ready to use.
type Options struct {
	// DefaultLimit is how many results a search without a limit returns.
	// Defaults to 8; never above MaxLimit.
	DefaultLimit int
	// MaxLimit is the most a search returns. Defaults to 50.
	MaxLimit int
	// Schemas keeps compiled schemas across catalogs. Defaults to a cache of
	// this Catalog's own.
	Schemas *Schemas
}

// The defaults of Options.
const (
	defaultLimit = 8
	maximumLimit = 50
)

// withDefaults returns o with its zero fields filled in. DefaultLimit never
// exceeds MaxLimit, so that a search without a limit obeys the maximum too.
func (o Options) withDefaults() Options {
	if o.MaxLimit <= 0 {
		o.MaxLimit = maximumLimit
	}
	if o.DefaultLimit <= 0 {
		o.DefaultLimit = defaultLimit
	}
	o.DefaultLimit = min(o.DefaultLimit, o.MaxLimit)
	if o.Schemas == nil {
		o.Schemas = NewSchemas(0)
	}
	return o
}

// Catalog is an immutable set of tools, safe for concurrent use. It depends
// only on its tools and options, and holds nothing of any run, so runs with
// equal tool sets can share one.
type Catalog struct {
	options Options
	tools   []*Tool // in catalog order
	guest   []*Tool // those a guest sees, in catalog order

	// Made on first use, once, and never changed afterwards.
	lookup      func() *lookup
	index       func() *index
	entriesJSON func() []byte
	safe        func() safeNames
	quick       func() string
	fingerprint func() string
}

// controlTools are the tools of discovery itself; a catalog never holds them.
var controlTools = []string{"tool_search_code", "tool_search", "tool_describe", "tool_call"}

// IsControl reports whether a name is one of those that no catalog holds: the
// tools of discovery, tool_search_code, tool_search, tool_describe and tool_call.
//
// It is exported so that a host can refuse such a tool with an error instead of
// leaving it out.
func IsControl(name string) bool { return slices.Contains(controlTools, name) }

// WithDefaults returns the tool with the Source and Owner that a catalog would give
// it.
func (t Tool) WithDefaults() Tool {
	if t.Source == "" {
		t.Source = SourceQuoin
	}
	if t.Owner == "" {
		switch t.Source {
		case SourceQuoin:
			t.Owner = OwnerCore
		case SourceClient:
			t.Owner = OwnerClient
		}
	}
	return t
}

// normalize fills in the defaults of a tool and checks its id's parts.
func (t *Tool) normalize() error {
	*t = t.WithDefaults()
	var why string
	switch {
	case !slices.Contains(sources, t.Source):
		why = fmt.Sprintf("source %s is unknown", shown(string(t.Source)))
	case !usableName(t.Name):
		why = "its name must be 1 to 256 printable bytes without spaces around them"
	case !usableName(t.Owner) || strings.Contains(t.Owner, ":"):
		why = "its owner must be 1 to 256 printable bytes without ':' or spaces around them"
	default:
		return nil
	}
	return &Error{Code: InvalidTool, Message: fmt.Sprintf("tool %s of %s cannot be cataloged: %s", shown(t.Name), shown(t.Owner), why)}
}

// usableName reports whether name can be a part of an id: it must survive a log
// line, a message and a model that repeats it.
func usableName(name string) bool {
	if name == "" || len(name) > 256 || strings.TrimSpace(name) != name {
		return false
	}
	return text.IsPrintable(name)
}

// sources are the sources in catalog order; the host's own tools come before the tools of its
// plugins.
var sources = []Source{SourceQuoin, SourceMCP, SourceClient}

// compareTools is the catalog's order. Tools are equal only if their ids are.
//
// The order is part of what a guest sees: search results of equal rank, prompts
// and fingerprints follow it.
func compareTools(a, b *Tool) int {
	if a.Source != b.Source {
		return cmp.Compare(slices.Index(sources, a.Source), slices.Index(sources, b.Source))
	}
	if a.Owner != b.Owner {
		if a.core() != b.core() {
			if a.core() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Owner, b.Owner)
	}
	return strings.Compare(a.Name, b.Name)
}

// Len returns how many tools there are, MCP tools included.
func (c *Catalog) Len() int { return len(c.tools) }

// Counts returns how many tools each source has; every source is there.
//
// A source without tools has the count 0, so that a metric or a page has a value
// for each.
func (c *Catalog) Counts() map[Source]int {
	counts := map[Source]int{}
	for _, s := range sources {
		counts[s] = 0
	}
	for _, t := range c.tools {
		counts[t.Source]++
	}
	return counts
}

// Tools returns all tools in catalog order, MCP tools included. The tools are
// shared: do not modify them.
func (c *Catalog) Tools() []*Tool { return slices.Clone(c.tools) }

// lookup finds tools by id and by name.
type lookup struct {
	byID map[string]*Tool
	// byName has the tools a guest sees under each name.
	byName map[string][]*Tool
}

// safeNames are the functions guests find on tools, by name.
type safeNames struct {
	ids  map[string]string // safe name -> id
	json []byte
}
