package gateway

import (
	"errors"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/plugins"
)

// CatalogList is the answer to GET /v1/catalog.
type CatalogList struct {
	Tools []catalog.Entry `json:"tools"`
}

// NamespaceList is the answer to GET /v1/namespaces.
type NamespaceList struct {
	Namespaces []host.Namespace `json:"namespaces"`
}

// PluginList is the answer to GET /v1/plugins.
type PluginList struct {
	Plugins []Plugin `json:"plugins"`
}

// Plugin is what is known of one plugin at one moment.
type Plugin struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"` // of the manifest, unless it cannot be read
	// State is starting, running, restarting, disabled or stopped.
	State string `json:"state"`
	// Reason says why a plugin is disabled or restarting, or why the namespaces of
	// one that runs are refused.
	Reason   string `json:"reason,omitempty"`
	Restarts int    `json:"restarts"`
	// Generation counts what was put into service under the id.
	Generation int `json:"generation"`
	// LastError says why the last reload failed; the generation before goes on.
	LastError string `json:"lastError,omitempty"`
	// Development says that a plugin under development stands in for the installed
	// one.
	Development bool `json:"development,omitempty"`
	// Pinned says that the plugin starts only as what quoin.lock or a trusted
	// signature says.
	Pinned bool `json:"pinned"`
	// Signer is the key that has signed a pinned plugin.
	Signer     string   `json:"signer,omitempty"`
	Tools      []string `json:"tools"`
	Namespaces []string `json:"namespaces"`
}

// PluginOf is the public part of a plugin's status: no paths, no processes.
func PluginOf(s plugins.Status) Plugin {
	signer := ""
	if s.Signer != (plugins.PublicKey{}) {
		signer = s.Signer.String()
	}
	return Plugin{
		ID:         s.ID,
		Version:    s.Version,
		State:      s.State.String(),
		Reason:     s.Reason,
		Restarts:   s.Restarts,
		Generation: s.Generation, LastError: s.LastError, Development: s.Development,
		Pinned: s.Pinned, Signer: signer,
		Tools:      some(s.Tools),
		Namespaces: some(s.Namespaces),
	}
}

// some is list, never null in JSON.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) catalog(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	return s.ok(w, CatalogList{some(s.host.ToolsOf(session))})
}

// tool describes one tool with its schemas.
func (s *Server) tool(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	d, err := s.host.ToolOf(session, r.PathValue("id"))
	switch {
	case errors.Is(err, catalog.UnknownTool):
		return problem(http.StatusNotFound, ProblemNotFound, "there is no tool with the id %s; GET /v1/catalog lists them", shown(r.PathValue("id")))
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return s.ok(w, d)
}

func (s *Server) namespaces(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	return s.ok(w, NamespaceList{some(s.host.NamespacesOf(session))})
}

func (s *Server) plugins(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	list := PluginList{[]Plugin{}}
	for _, status := range s.host.Plugins() {
		list.Plugins = append(list.Plugins, PluginOf(status))
	}
	return s.ok(w, list)
}

// Health is the answer to GET /healthz.
type Health struct {
	Status string `json:"status"` // ok
}

// health is for whoever decides whether to send requests here. A server that is
// shutting down wants none.
func (s *Server) health(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	if s.isStopping() {
		return shuttingDown()
	}
	return s.ok(w, Health{"ok"})
}
