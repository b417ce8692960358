package gateway

import (
	_ "embed"
	"net/http"
	"time"
)

// openAPI is the OpenAPI 3.1 description of every route.
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the interface: OpenAPI 3.1, as JSON.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	w.Header().Set("Content-Type", "application/json")
	setWriteDeadline(w, time.Now().Add(s.WriteTimeout))
	if _, err := w.Write(openAPI); err != nil {
		s.Logger.Debug("the description of the interface was not delivered", "error", err)
	}
	return nil
}
