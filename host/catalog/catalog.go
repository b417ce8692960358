package catalog

import "encoding/json"

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

// Schemas is a bounded cache of compiled schemas, safe for concurrent use.
type Schemas struct{}

// NewSchemas returns an empty cache for at most size schemas (default 4096).
func NewSchemas(size int) *Schemas { return &Schemas{} }

// Catalog is an immutable set of tools, safe for concurrent use. It depends
// only on its tools and options, so runs with equal tool sets can share one.
type Catalog struct{}

// New builds a catalog. Control tools are left out; a tool without a usable
// name or owner and a duplicate id are refused. The order of tools does not matter.
func New(tools []Tool, o Options) (*Catalog, error) { return &Catalog{}, nil }

// Len returns how many tools there are, MCP tools included.
func (c *Catalog) Len() int { return 0 }

// Counts returns how many tools each source has.
func (c *Catalog) Counts() map[Source]int { return nil }

// Tools returns all tools in catalog order. The tools are shared: do not modify them.
func (c *Catalog) Tools() []*Tool { return nil }

// Entries returns the entries of all tools in catalog order.
func (c *Catalog) Entries() []Entry { return nil }

// GuestEntries returns the entries a guest sees: all but MCP tools.
func (c *Catalog) GuestEntries() []Entry { return nil }

// GuestEntriesJSON returns GuestEntries as JSON. Shared: do not modify.
func (c *Catalog) GuestEntriesJSON() []byte { return nil }

// SafeNames maps the names guests may call tools by to their ids.
func (c *Catalog) SafeNames() map[string]string { return nil }

// SafeNamesJSON returns SafeNames as JSON. Shared: do not modify.
func (c *Catalog) SafeNamesJSON() []byte { return nil }

// Resolve returns the tool a guest means by an exact id or unique name.
func (c *Catalog) Resolve(idOrName string) (*Tool, error) { return nil, nil }

// ByID returns the tool with an exact id, MCP tools included.
func (c *Catalog) ByID(id string) (*Tool, bool) { return nil, false }

// ByOwner returns the tool a plugin (or "core") owns under a name.
func (c *Catalog) ByOwner(name, owner string) (*Tool, bool) { return nil, false }

// Owned implements namespaces.Tools.
func (c *Catalog) Owned(toolName, pluginID string) bool { return false }

// Search returns the best guest-visible entries for a query, best first.
func (c *Catalog) Search(query string, limit int) []Entry { return nil }

// Limit reads the limit of a guest's search options.
func (c *Catalog) Limit(options json.RawMessage) (int, error) { return 0, nil }

// Describe returns the entry and schemas of the tool a guest means.
func (c *Catalog) Describe(idOrName string) (*Description, error) { return nil, nil }

// ValidateInput checks an input against the schema of the tool with an exact id.
func (c *Catalog) ValidateInput(id string, input json.RawMessage) error { return nil }

// NormalInput returns {} for an absent or null input, and input otherwise.
func NormalInput(input json.RawMessage) json.RawMessage { return input }

// Shape renders a JSON Schema as a compact TypeScript-like type.
func Shape(schema json.RawMessage) string { return "" }

// Fingerprint identifies the set of tool ids and schemas.
func (c *Catalog) Fingerprint() string { return "" }
