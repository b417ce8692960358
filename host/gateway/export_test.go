package gateway

import (
	"fmt"
	"slices"
	"time"
)

// Signatures are the routes in the words that the document is compared in.
func Signatures(s *Server) []string {
	var out []string
	for _, r := range s.routes {
		query := slices.Clone(r.query)
		slices.Sort(query)
		out = append(out, fmt.Sprintf("%s %s open:%v session:%v query:%v", r.method, r.path, r.open, r.session || r.scoped, query))
	}
	return out
}

// KeepAlive has the streams of a server say so often that they are open.
func (o Options) KeepAlive(every time.Duration) Options {
	o.times = defaultTimes
	o.times.keepAlive = every
	return o
}
