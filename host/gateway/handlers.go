package gateway

import (
	"net/http"

	"github.com/quoinhq/quoin/host"
)

// handlers is what the operations of all resources share.
type handlers struct {
	responder
	options  Options
	host     *host.Host
	bodies   bodyReader
	stopping <-chan struct{} // closed when the server shuts down
}

// The operations of a resource are the methods of its handlers, in a file of its name.
// routes.go lists all of them.
type (
	cellHandlers struct { // runs from exec to their result
		*handlers
		waits *detachedWaits
	}
	developmentHandlers struct {
		*handlers
		developing developments
	}
	approvalHandlers   struct{ *handlers }
	grantHandlers      struct{ *handlers }
	catalogHandlers    struct{ *handlers }
	pluginHandlers     struct{ *handlers } // and MCP servers
	runHandlers        struct{ *handlers }
	effectHandlers     struct{ *handlers }
	programHandlers    struct{ *handlers }
	trajectoryHandlers struct{ *handlers }
	eventHandlers      struct{ *handlers }
	healthHandlers     struct{ *handlers } // what watches over a server asks
)

// handler answers a request, or returns what is wrong with it and has written
// nothing.
type handler func(w http.ResponseWriter, r *http.Request, session Session) *Problem

// withBody has the body of a request read before its operation.
func (h *handlers) withBody(do func(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem) handler {
	return func(w http.ResponseWriter, r *http.Request, session Session) *Problem {
		f, p := h.bodies.fields(w, r)
		if p != nil {
			return p
		}
		return do(w, r, session, f)
	}
}

// nonNil returns the list, or an empty one, which is [] in JSON and not null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
