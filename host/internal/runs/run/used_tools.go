package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// maxUsed bounds the tools that a run remembers the definitions of.
const maxUsed = 256

// usedTools are digests of the schemas of the tools that a run has described or
// called, by id.
type usedTools struct {
	Mu      calls.CountedMutex
	Digests map[string]string
	last    map[string]*catalog.Tool // what was last found to be as it was
}

// Note remembers what a tool looks like to the run, and reports whether it still
// looks as it did.
func (u *usedTools) Note(tool *catalog.Tool) (same bool) {
	id := tool.ID()
	u.Mu.Lock()
	defer u.Mu.Unlock()
	if u.last[id] == tool {
		return true
	}
	known, used := u.Digests[id]
	if !used && len(u.Digests) >= maxUsed {
		return true
	}
	digest := SchemaDigest(tool)
	if used && known != digest {
		return false
	}
	if u.Digests == nil {
		u.Digests = make(map[string]string)
	}
	if u.last == nil { // the digests may come from a record
		u.last = make(map[string]*catalog.Tool)
	}
	u.Digests[id], u.last[id] = digest, tool
	return true
}

// Tools returns the Tools, in order of their ids. The tools of a record are not there.
func (u *usedTools) Tools() []*catalog.Tool {
	u.Mu.Lock()
	defer u.Mu.Unlock()
	return slices.SortedFunc(maps.Values(u.last), func(a, b *catalog.Tool) int { return strings.Compare(a.ID(), b.ID()) })
}

// Stored is what a record keeps.
func (u *usedTools) Stored() map[string]string {
	u.Mu.Lock()
	defer u.Mu.Unlock()
	return maps.Clone(u.Digests)
}

// SchemaDigest identifies the schemas of a tool, in few bytes: records keep it.
func SchemaDigest(tool *catalog.Tool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d ", len(tool.Parameters))
	h.Write(tool.Parameters)
	h.Write(tool.Output)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
