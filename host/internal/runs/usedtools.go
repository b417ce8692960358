package runs

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

// maxUsed bounds the tools whose definitions a run remembers.
const maxUsed = 256

// usedTools are digests of the schemas of the tools that a run has described or
// called, by id.
type usedTools struct {
	mu      calls.CountedMutex
	digests map[string]string
	last    map[string]*catalog.Tool // what was last found to be as it was
}

// note remembers what a tool looks like to the run, and reports whether it still
// looks as it did.
func (u *usedTools) note(tool *catalog.Tool) (same bool) {
	id := tool.ID()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last[id] == tool {
		return true
	}
	known, used := u.digests[id]
	if !used && len(u.digests) >= maxUsed {
		return true
	}
	digest := schemaDigest(tool)
	if used && known != digest {
		return false
	}
	if u.digests == nil {
		u.digests = make(map[string]string)
	}
	if u.last == nil { // the digests may be those of a record
		u.last = make(map[string]*catalog.Tool)
	}
	u.digests[id], u.last[id] = digest, tool
	return true
}

// tools returns the tools, in order of their ids. Those of a record are not there.
func (u *usedTools) tools() []*catalog.Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Values(u.last), func(a, b *catalog.Tool) int { return strings.Compare(a.ID(), b.ID()) })
}

// stored is what a record keeps.
func (u *usedTools) stored() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.digests)
}

// schemaDigest identifies the schemas of a tool, in few bytes: records keep it.
func schemaDigest(tool *catalog.Tool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d ", len(tool.Parameters))
	h.Write(tool.Parameters)
	h.Write(tool.Output)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
