package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// ModelTools is the answer to GET /v1/surface: the tools that a model is shown in
// place of the host's tools.
type ModelTools struct {
	// Active says whether the model gets code mode. If it does not, Tools is empty,
	// and you must not offer exec to the model.
	Active bool `json:"active"`
	// Tools are exec and wait as a JSON list, in the shape of the provider that was
	// asked for. Without a provider they are a list of Definition.
	Tools json.RawMessage `json:"tools"`
}

// Definition is a tool as a model is shown it, in no provider's shape.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// ModelToolsOf returns the tools that a model of the session is shown in place of
// the host's tools. Provider and model may be empty. It fails for an unknown
// provider.
func ModelToolsOf(h *host.Host, s Session, p modeltools.Provider, model string) (*ModelTools, error) {
	if !h.Catalog(s).Offered(model) {
		return &ModelTools{Tools: json.RawMessage("[]")}, nil
	}
	// Tools that are direct-only are not among them: they cannot be called over HTTP.
	exec, wait := h.Catalog(s).Definitions()
	tools, err := rendered(p, []catalog.Tool{exec, wait})
	return &ModelTools{Active: true, Tools: tools}, err
}

// rendered returns tools as JSON in the shape of a provider.
func rendered(p modeltools.Provider, tools []catalog.Tool) (json.RawMessage, error) {
	if p != "" {
		return modeltools.Render(p, tools)
	}
	list := make([]Definition, 0, len(tools))
	for _, t := range tools {
		list = append(list, Definition{t.Name, t.Description, t.Parameters})
	}
	return jsontext.Marshal(list)
}

// maxModel bounds the id of a model in bytes.
const maxModel = 256

// modelTools answers with the tools that a model of the session is shown.
func (h catalogHandlers) modelTools(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	query := r.URL.Query()
	provider, model := modeltools.Provider(query.Get("provider")), query.Get("model")
	switch {
	case query.Has("provider") && !slices.Contains(modeltools.Providers(), provider):
		return invalid("provider", fmt.Sprintf("%q is no provider", shown(string(provider))), fmt.Sprintf("one of %v", modeltools.Providers()))
	case len(model) > maxModel:
		return invalid("model", fmt.Sprintf("it has %d bytes", len(model)), fmt.Sprintf("the id of a model, at most %d bytes", maxModel))
	}
	found, err := ModelToolsOf(h.host, session, provider, model)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return h.ok(w, found)
}
