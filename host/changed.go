package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
)

// codeCatalogChanged rejects a call that fails because the tools changed while
// its run was suspended.
const codeCatalogChanged = "catalog_changed"

// maxUsed bounds the tools of which a run remembers what they looked like.
const maxUsed = 256

// refreshView resolves the view of a run that resumes.
func (r *run) refreshView() {
	before := r.view()
	if err := r.h.resolveView(r.access); err != nil {
		r.h.log.Error("the tools of a resumed run were not brought up to date", "run", r.id, "error", err)
		return
	}
	now := r.view()
	if now == before || now.catalog.Fingerprint() == before.catalog.Fingerprint() {
		return
	}
	r.changed.Store(true)
}

// resolve finds the tool that a guest means. In a run whose tools have changed it
// says so when there is none.
func (r *run) resolve(idOrName string) (*catalog.Tool, *callError) {
	tool, err := r.view().catalog.Resolve(idOrName)
	if err == nil {
		return tool, nil
	}
	e := ofCatalog(err)
	if r.changed.Load() && (errors.Is(err, catalog.UnknownTool) || errors.Is(err, catalog.AmbiguousTool)) {
		e.Code = codeCatalogChanged
		e.Message = "The tools have changed since this run was suspended. " + e.Message
	}
	return nil, e
}

// checkInput checks a call's input. A tool whose schemas changed since the run
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
	mu      sync.Mutex
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
