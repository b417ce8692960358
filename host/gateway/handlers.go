package gateway

import (
	"github.com/quoinhq/quoin/host"
)

// handlers are the operations of the server, one method each. They stand in files
// named after what they are about; routes.go lists all of them.
type handlers struct {
	responder
	options    Options
	host       *host.Host
	bodies     bodyReader
	waits      *detachedWaits
	developing developments
	stopping   <-chan struct{} // closed when the server shuts down
}

func newHandlers(h *host.Host, o Options, l *limits, stopping <-chan struct{}) *handlers {
	return &handlers{
		responder: responder{log: o.Logger, timeout: o.WriteTimeout},
		options:   o,
		host:      h,
		bodies:    bodyReader{max: o.MaxBody, timeout: o.BodyTimeout, limits: l},
		waits:     &detachedWaits{keep: o.KeepResult, log: o.Logger},
		stopping:  stopping,
	}
}

// nonNil returns the list, or an empty one, which is [] in JSON and not null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
