package gateway

import (
	"errors"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// CatalogList is the answer to GET /v1/catalog.
type CatalogList struct {
	// Tools have everything but their schemas: GET /v1/catalog/{id} returns those.
	Tools []catalog.Entry `json:"tools"`
}

// NamespaceList is the answer to GET /v1/namespaces.
type NamespaceList struct {
	// Namespaces are listed if the session may call all their required tools.
	Namespaces []host.Namespace `json:"namespaces"`
}

// listTools lists the tools that the session's programs may call.
func (h catalogHandlers) listTools(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	return h.ok(w, CatalogList{nonNil(h.host.Catalog(session).Tools())})
}

// showTool describes one tool with its schemas.
func (h catalogHandlers) showTool(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	d, err := h.host.Catalog(session).Tool(r.PathValue("id"))
	switch {
	case errors.Is(err, catalog.UnknownTool):
		return problem(http.StatusNotFound, ProblemNotFound, "there is no tool with the id %s; GET /v1/catalog lists them", shown(r.PathValue("id")))
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return h.ok(w, d)
}

// listNamespaces lists the namespaces that the session's programs see.
func (h catalogHandlers) listNamespaces(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	return h.ok(w, NamespaceList{nonNil(h.host.Catalog(session).Namespaces())})
}
