package gateway

import (
	"context"
	_ "embed"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quoinhq/quoin/host/runstore"
)

// healthStatus is the answer to GET /healthz.
type healthStatus struct {
	Status string       `json:"status"` // ok
	Store  *storeHealth `json:"store,omitempty"`
	// Cluster is what keeps other hosts and this one from asking each other.
	Cluster []clusterFault `json:"cluster,omitempty"`
}

// clusterFault tells no address: anyone may ask for the health.
type clusterFault struct {
	Host string `json:"host"`
	Kind string `json:"kind"`
}

// storeHealth is how a database that keeps the runs does, as this host sees it.
type storeHealth struct {
	State           runstore.HealthState `json:"state"`
	RoundTripMillis int64                `json:"roundTripMs,omitempty"` // of a store over a network
}

// health is for load balancers and supervisors. A server that is shutting down
// refuses: it takes no more requests. A server without its database is healthy: a restart
// would end the runs that it still has in memory.
func (h healthHandlers) health(w http.ResponseWriter, r *http.Request, _ Session) *Problem {
	if isClosed(h.stopping) {
		return shuttingDown()
	}
	return h.ok(w, h.status(r.Context()))
}

// ready is for load balancers that have somewhere else to send requests: a server refuses if
// its store takes no writes.
func (h healthHandlers) ready(w http.ResponseWriter, r *http.Request, _ Session) *Problem {
	if isClosed(h.stopping) {
		return shuttingDown()
	}
	s := h.status(r.Context())
	if s.Store != nil && !s.Store.State.Works() {
		p := problem(http.StatusServiceUnavailable, ProblemStore, "the store of runs is %s: no run can be suspended or taken up", s.Store.State)
		p.retry = 5 * time.Second
		return p
	}
	return h.ok(w, s)
}

func (h healthHandlers) status(ctx context.Context) healthStatus {
	s := healthStatus{Status: "ok"}
	is := h.host.Health(ctx)
	if store := is.Store; store != nil {
		s.Store = &storeHealth{store.State, store.RoundTrip.Milliseconds()}
	}
	for _, f := range is.Cluster {
		s.Cluster = append(s.Cluster, clusterFault{f.Host, f.Kind})
	}
	return s
}

// processMetrics returns the metrics of the Go runtime and of this process. They are
// not in the host's: a process may have several hosts.
var processMetrics = sync.OnceValue(func() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
})

// metrics answers in the text format of Prometheus.
func (h healthHandlers) metrics(w http.ResponseWriter, r *http.Request, _ Session) *Problem {
	setWriteDeadline(w, time.Now().Add(h.options.WriteTimeout))
	all := prometheus.Gatherers{h.host.Metrics(), processMetrics()}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}

// openAPI is the OpenAPI 3.1 description of every route.
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the interface: OpenAPI 3.1, as JSON.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// openAPI answers with the description of the interface.
func (h healthHandlers) openAPI(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	w.Header().Set("Content-Type", "application/json")
	setWriteDeadline(w, time.Now().Add(h.options.WriteTimeout))
	if _, err := w.Write(openAPI); err != nil {
		h.options.Logger.Debug("the description of the interface was not delivered", "error", err)
	}
	return nil
}
