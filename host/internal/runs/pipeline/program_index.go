package pipeline

import (
	"slices"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/programs"
)

// programIndex has a catalog with the saved programs of some session, for searches. The
// zero value is ready. It is safe for concurrent use.
type programIndex struct {
	mu    sync.Mutex
	base  *catalog.Catalog
	list  []*programs.Program
	whole *catalog.Catalog
}

// of returns the catalog with programs, or base if they do not fit in.
func (x *programIndex) of(base *catalog.Catalog, list []*programs.Program) *catalog.Catalog {
	if len(list) == 0 {
		return base
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.base == base && slices.Equal(x.list, list) {
		return x.whole
	}
	tools := make([]catalog.Tool, len(list))
	for i, p := range list {
		tools[i] = *programTool(p)
	}
	whole, err := base.With(tools)
	if err != nil {
		return base
	}
	x.base, x.list, x.whole = base, list, whole
	return whole
}
