package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// entry returns the compact description of a tool.
func (t *Tool) entry() Entry {
	e := Entry{ID: t.ID(), Name: t.Name, Label: t.Label, Description: t.Description, Source: t.Source}
	if !t.core() {
		e.SourceName = t.Owner
	}
	return e
}

// entries returns the compact forms of tools.
func entries(tools []*Tool) []Entry {
	list := make([]Entry, len(tools))
	for i, t := range tools {
		list[i] = t.entry()
	}
	return list
}

// Entries returns the entries of all tools in catalog order, MCP tools included: the view for
// policy and audit.
func (c *Catalog) Entries() []Entry { return entries(c.tools) }

// GuestEntries returns the entries a guest sees: all but the entries of MCP tools. Every one
// of them can be resolved by its id.
func (c *Catalog) GuestEntries() []Entry { return entries(c.guest) }

// GuestEntriesJSON returns GuestEntries as a JSON array. The bytes are shared:
// do not modify them.
func (c *Catalog) GuestEntriesJSON() []byte { return c.entriesJSON() }

// Describe returns the entry, schemas and examples of the tool a guest means,
// found as by Resolve. It fails with InvalidSchema if what the tool's owner
// gave is not JSON.
func (c *Catalog) Describe(idOrName string) (*Description, error) {
	t, err := c.Resolve(idOrName)
	if err != nil {
		return nil, err
	}
	return t.describe()
}

// DescribeID is Describe for the host: by exact id, MCP tools included.
func (c *Catalog) DescribeID(id string) (*Description, error) {
	t, ok := c.ByID(id)
	if !ok {
		return nil, c.unknown(id)
	}
	return t.describe()
}

// describe returns the full form of a tool.
func (t *Tool) describe() (*Description, error) {
	d := &Description{Entry: t.entry(), Parameters: t.Parameters, Output: t.Output, Examples: t.Examples}
	if len(d.Parameters) == 0 {
		d.Parameters = json.RawMessage("{}")
	}
	if !json.Valid(d.Parameters) {
		return nil, t.badSchema("its parameters are not valid JSON", nil)
	}
	if len(d.Output) > 0 && !json.Valid(d.Output) {
		return nil, t.badSchema("its output schema is not valid JSON", nil)
	}
	for i, e := range d.Examples {
		if !json.Valid(e.Input) || len(e.Output) > 0 && !json.Valid(e.Output) {
			return nil, t.badSchema(fmt.Sprintf("its example %d is not valid JSON", i+1), nil)
		}
	}
	return d, nil
}

// Fingerprint identifies the set of tool ids with their schemas, as 64 hex
// digits. Catalogs of equal tool sets have equal fingerprints.
func (c *Catalog) Fingerprint() string { return c.fingerprint() }

// makeFingerprint digests ids and schemas in catalog order. Each part has its length
// before it, so that no two sets of tools run together to the same bytes.
func (c *Catalog) makeFingerprint() string {
	h := sha256.New()
	var length [8]byte
	for _, t := range c.tools {
		for _, part := range [][]byte{[]byte(t.ID()), t.Parameters, t.Output} {
			binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
			h.Write(length[:])
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
