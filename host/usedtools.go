package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/quoinhq/quoin/host/catalog"
)

// maxUsed bounds the tools whose definitions a run remembers.
const maxUsed = 256

// refreshView resolves the view of a run that resumes.
func (r *run) refreshView() {
	before := r.view()
	if err := r.engine.views.resolveView(r.access); err != nil {
		r.engine.log.Error("the tools of a resumed run were not brought up to date", "run", r.id, "error", err)
		return
	}
	now := r.view()
	if now == before || now.catalog.Fingerprint() == before.catalog.Fingerprint() {
		return
	}
	r.changed.Store(true)
}

// checkInput checks an input of a tool. A tool whose schemas changed since the run
// first used it is compatible as long as it takes the input.
func (r *run) checkInput(tool *catalog.Tool, input []byte) *callError {
	if now, ok := r.view().catalog.ByID(tool.ID()); ok {
		tool = now // not what it was when the call was made and a person was asked
	}
	same := r.used.note(tool)
	err := r.view().catalog.ValidateInput(tool.ID(), input)
	if err == nil {
		return nil
	}
	e := ofCatalog(err)
	if !same {
		e.Code = codeCatalogChanged
		e.Message = fmt.Sprintf("Tool %s has changed since this run first used it. %s", tool.ID(), e.Message)
	}
	return e
}

// usedTools are digests of the schemas of the tools that a run has described or
// called, by id.
type usedTools struct {
	mu      countedMutex
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
