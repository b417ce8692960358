package drive

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
)

// A program that names an MCP server in its text waits until the server was tried once,
// which may take as long as the start of a program or of a container takes. One that
// computes the name waits for all servers with tools that no pins tell. A guest that has
// started cannot wait: it reads in the middle of a turn which servers there are.

// awaitServers waits, before the program starts, for the servers that it names.
func (c *caller) awaitServers(code string) {
	r := c.run
	connecting := r.env.Views.Connecting()
	computes := len(connecting) > 0 && computesName(code)
	maps.DeleteFunc(connecting, func(name, identifier string) bool {
		wanted := namesServer(code, name, identifier) || computes && !slices.Contains(r.View().Owners(), run.OfServers+name)
		return !wanted || !view.MayUse(r.Access.Layers, name)
	})
	if len(connecting) == 0 {
		return
	}
	caller, _ := run.CallerOf(c.ctx)
	ctx, stop := r.Joined(caller)
	defer stop()
	r.env.awaitServers(ctx, c.deadline.Sub(r.env.Clock.Now()), r.ID, r.Session, connecting)
	if err := r.env.Views.ResolveView(r.Access); err != nil {
		r.env.Logger.Error("the tools of a run were not brought up to date", "run", r.ID, "error", err)
	}
}

// AwaitOwners waits for the servers that a suspended run could reach, if this host does not
// know their tools yet.
func (e *Env) AwaitOwners(ctx context.Context, s codemode.Session, rec *runstore.Record, wait time.Duration) {
	if len(rec.Owners) == 0 {
		return
	}
	connecting := e.Views.Connecting()
	maps.DeleteFunc(connecting, func(name, _ string) bool {
		return !slices.Contains(rec.Owners, run.OfServers+name) || slices.Contains(e.Views.SessionView(s).Owners(), run.OfServers+name)
	})
	caller, _ := run.CallerOf(ctx)
	e.awaitServers(caller, wait, rec.ID, s, connecting)
}

// awaitServers waits until servers were tried, at most for a time, and tells those who follow
// the run.
func (e *Env) awaitServers(ctx context.Context, wait time.Duration, runID string, s codemode.Session, servers map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-e.Parking:
		case <-ctx.Done():
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		e.Observer.Awaits(ctx, runID, s, name)
		if e.Views.Tried(ctx, name) != nil {
			return
		}
	}
}

// namesServer reports whether the text of a program names a server: as a property of MCP, or
// in the id of a tool or the name of a file.
func namesServer(code, name, identifier string) bool {
	if strings.Contains(code, run.OfServers+name+":") || strings.Contains(code, "mcp/"+identifier) {
		return true
	}
	return hasWord(code, "MCP") && (hasWord(code, identifier) || hasWord(code, name))
}

// computesName reports whether a program may name a server in another way than namesServer
// sees: as MCP[name], in the id of a tool, or through MCP as a value. It reads no syntax: a
// comment such as "MCP, too" counts, and costs a wait.
func computesName(code string) bool {
	code = withoutServers.ReplaceAllString(code, "")
	return mcpIndexed.MatchString(code) || mcpAsValue.MatchString(code) || computedID.MatchString(code)
}

var (
	// withoutServers are uses of MCP that need no server: a look at the names, and a pattern,
	// which names its servers.
	withoutServers = regexp.MustCompile(`Object\.keys\(\s*MCP\s*\)|\}\s*=\s*MCP\b`)
	// mcpIndexed is MCP[x], unless x is a text alone.
	mcpIndexed = regexp.MustCompile(`(^|[^\w$.])MCP\s*(\?\.\s*)?\[\s*([^\s"']|"[^"\n]*"\s*[^\s\]]|'[^'\n]*'\s*[^\s\]])`)
	// mcpAsValue is MCP at the end of an expression, also of one that a line break ends.
	mcpAsValue = regexp.MustCompile(`(^|[^\w$.]|\.\.\.)MCP(\s*([;,)\]}:|&]|$)|[ \t]*\n\s*[^.\s\[?])`)
	computedID = regexp.MustCompile(`mcp:(\$\{|["']\s*\+)`)
)

// hasWord reports whether a text has a word that is not part of a longer one.
func hasWord(text, word string) bool {
	return word != "" && regexp.MustCompile(`(^|[^\w$])`+regexp.QuoteMeta(word)+`($|[^\w$])`).MatchString(text)
}
