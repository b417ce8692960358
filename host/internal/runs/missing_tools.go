package runs

import (
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// A record names the owners of the tools that its run could reach. A host that lacks one of
// them is most likely another one than suspended the run: it has another plugin directory,
// or another configuration. It refuses the run and leaves it as it is. What an owner has
// changed about its tools since then is said call by call: see usedtools.go.

// checkComplete refuses the run of a record if this host lacks what the run was suspended
// with. The run reaches what reached has. Nothing has become of it by then.
func (v *reviver) checkComplete(reached *view.View, rec *runstore.Record) *codemode.Error {
	missing := v.missingOwners(reached, rec.Owners)
	for id := range rec.Scopes {
		if _, known := reached.Namespace(id); !known {
			missing = append(missing, "the namespace "+text.Cut(id, 128))
		}
	}
	for _, c := range rec.Calls {
		notMade := c.State == runstore.CallQueued || c.State == runstore.CallApproval
		if !notMade || c.Tool == "" || c.Method == calls.MethodExec || strings.HasPrefix(c.Tool, run.OfCallers) || pipeline.IsProgramTool(c.Tool) {
			continue
		}
		if _, there := reached.Catalog.ByID(c.Tool); !there {
			name := "the tool " + text.Cut(c.Tool, 128)
			if server, _, ok := strings.Cut(strings.TrimPrefix(c.Tool, run.OfServers), ":"); ok && strings.HasPrefix(c.Tool, run.OfServers) && v.Views.IsDown(run.OfServers+server) {
				name += " (its server is not connected: quoin mcp test " + text.Cut(server, 128) + " says why)"
			}
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return toolsMissing(slices.Compact(missing), rec)
}

// missingOwners are those that have no tool in reached, unless this host has them and they
// are down at this moment.
func (v *reviver) missingOwners(reached *view.View, owners []string) (missing []string) {
	there := reached.Owners()
	for _, name := range owners {
		if slices.Contains(there, name) || v.Views.IsDown(name) {
			continue
		}
		name = text.Cut(name, 128)
		if name == run.OfPlugins+catalog.OwnerCore {
			missing = append(missing, "the tools that are built into its host")
			continue
		}
		if server, ok := strings.CutPrefix(name, run.OfServers); ok {
			missing = append(missing, "the MCP server "+server)
		} else if plugin, ok := strings.CutPrefix(name, run.OfPlugins); ok {
			missing = append(missing, "the plugin "+plugin)
		}
	}
	return missing
}

// maxMissing bounds what a message lists.
const maxMissing = 8

// toolsMissing refuses a run that another host can resume.
func toolsMissing(missing []string, rec *runstore.Record) *codemode.Error {
	const format = "code mode run cannot go on here: it was suspended with %s, which this host does not have or does not allow. " +
		"Nothing is lost: the run, its calls and its approvals are kept until %s. Go on with it on a host that has the same plugins, MCP servers and rules, or abort it."
	return run.WithRecord(codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonToolsMissing, codemode.PhaseHost, format, listed(missing), rec.Expires.UTC().Format(fault.TimeLayout)), rec)
}

// listed is a list in words, cut where it gets long.
func listed(list []string) string {
	if len(list) > maxMissing {
		list = append(slices.Clone(list[:maxMissing]), "and more")
	}
	return strings.Join(list, ", ")
}
