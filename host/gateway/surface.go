package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// Surface is the answer to GET /v1/surface: what a model is to be shown in place of
// the host's tools.
type Surface struct {
	// Active says whether the model gets code mode. If it does not, there are no
	// Tools, and exec is not to be offered to it.
	Active bool `json:"active"`
	// Tools are exec and wait as a JSON list, in the shape of the provider that was
	// asked for. Without one they are a list of Definition.
	Tools json.RawMessage `json:"tools"`
}

// Definition is a tool as a model is shown it, in no provider's shape.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// SurfaceOf returns what a model of the session is to be shown of the host's tools.
// Provider and model may be empty. It fails for an unknown provider.
func SurfaceOf(h *host.Host, s Session, p host.Provider, model string) (*Surface, error) {
	if !h.Offered(s, model) {
		return &Surface{Tools: json.RawMessage("[]")}, nil
	}
	// Tools that are direct-only are not among them: they cannot be called over HTTP.
	exec, wait := h.Definitions(s)
	tools, err := rendered(p, []catalog.Tool{exec, wait})
	return &Surface{Active: true, Tools: tools}, err
}

func rendered(p host.Provider, tools []catalog.Tool) (json.RawMessage, error) {
	if p != "" {
		return host.RenderTools(p, tools)
	}
	list := make([]Definition, 0, len(tools))
	for _, t := range tools {
		list = append(list, Definition{t.Name, t.Description, t.Parameters})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return bytes.TrimSpace(b.Bytes()), err
}

// maxModel bounds the id of a model in bytes.
const maxModel = 256

func (s *Server) surface(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	query := r.URL.Query()
	provider, model := host.Provider(query.Get("provider")), query.Get("model")
	switch {
	case query.Has("provider") && !slices.Contains(host.Providers(), provider):
		return invalid("provider", fmt.Sprintf("%q is no provider", shown(string(provider))), fmt.Sprintf("one of %v", host.Providers()))
	case len(model) > maxModel:
		return invalid("model", fmt.Sprintf("it has %d bytes", len(model)), fmt.Sprintf("the id of a model, at most %d bytes", maxModel))
	}
	found, err := SurfaceOf(s.host, session, provider, model)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return s.ok(w, found)
}
