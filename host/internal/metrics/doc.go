// Package metrics holds the Prometheus metrics of a host. Embedders read them
// through Host.Metrics; no other package needs this one.
//
// A Metrics has a registry of its own: several hosts in one process do not meet.
// Register its gatherer together with others in prometheus.Gatherers, or serve it with
// promhttp.HandlerFor.
//
// The values of labels are bounded. Codes, reasons, endings and limits are words of
// the result contract. Owners of tools are plugins and MCP servers, which the
// operator chooses; beyond maxOwners of them, and for tools that the caller of a
// run brings, there is one collective name. Tool ids, runs and sessions are never
// labels.
//
// Counting takes no lock and does not block.
package metrics
