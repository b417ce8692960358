package pipeline

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/programs"
)

// maxUnkept bounds the programs of runs that wait to be kept; the oldest go first.
const maxUnkept = 64

// KeptPrograms keeps the programs of runs, so that they can be saved under a name. The
// runs do not wait for the store. It is safe for concurrent use.
type KeptPrograms struct {
	run.ProgramConfig
	Guard func(func())
	Log   *slog.Logger

	mu      sync.Mutex
	waiting []unkept
	writer  chan struct{} // closed when all that waits is kept; nil: nothing waits
}

// unkept is a program of a run that is to be kept.
type unkept struct {
	programs.Kept
	digests map[string]string // of the tools that the run has used, by id
	catalog *catalog.Catalog
}

// onlyRunsSaved matches the cell that host.ProgramCell writes. There is nothing in it to
// save, and under the name of the program that it runs it would run itself.
var onlyRunsSaved = regexp.MustCompile(`^return await programs\.run\("[^"\\]*"(?:, JSON\.parse\("(?:[^"\\]|\\.)*"\))?\)$`)

// Keep keeps the program of a run that was suspended, or that has completed, unless it
// only runs a saved one.
func (k *KeptPrograms) Keep(r *run.Run, completed bool) {
	if k.Store == nil || k.KeepFor <= 0 || len(r.Code) > programs.MaxCode || onlyRunsSaved.MatchString(r.Code) {
		return
	}
	now := time.Now()
	u := unkept{
		Kept: programs.Kept{
			RunID: r.ID, Session: r.Session, Language: r.Language, Code: r.Code, Title: r.Title,
			Completed: completed, At: now.UTC(), Expires: now.Add(k.KeepFor).UTC(),
		},
		digests: r.Used.Stored(), catalog: r.View().Catalog,
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) >= maxUnkept {
		k.waiting = slices.Delete(k.waiting, 0, 1)
	}
	k.waiting = append(k.waiting, u)
	if k.writer == nil {
		k.writer = make(chan struct{})
		go k.write()
	}
}

// write keeps what waits, until nothing does.
func (k *KeptPrograms) write() {
	for {
		u, ok := k.next()
		if !ok {
			return
		}
		k.Guard(func() {
			u.Tools = u.tools()
			if err := k.Store.Keep(context.Background(), &u.Kept); err != nil {
				k.Log.Warn("the program of a run is not kept: it cannot be saved under a name", "run", u.RunID, "error", err)
			}
		})
	}
}

func (k *KeptPrograms) next() (u unkept, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 {
		close(k.writer)
		k.writer, k.waiting = nil, nil
		return u, false
	}
	u = k.waiting[0]
	k.waiting = slices.Delete(k.waiting, 0, 1)
	return u, true
}

// Flush waits until the store has everything.
func (k *KeptPrograms) Flush() {
	k.mu.Lock()
	writer := k.writer
	k.mu.Unlock()
	if writer != nil {
		<-writer
	}
}

// tools are the tools that a run has used, by id. Those that its caller brought are left
// out: the next caller brings its own.
func (u *unkept) tools() []programs.Tool {
	var out []programs.Tool
	for _, id := range slices.Sorted(maps.Keys(u.digests)) {
		if strings.HasPrefix(id, run.OfCallers) || IsProgramTool(id) {
			continue
		}
		tool, ok := u.catalog.ByID(id)
		if ok && run.SchemaDigest(tool) != u.digests[id] {
			tool = nil
		}
		out = append(out, programs.ToolOf(id, u.digests[id], tool))
	}
	return out
}
