package host_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
)

// awaited is a log that tells of lines with a text.
type awaited struct {
	text  string
	lines chan string
}

func (a *awaited) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(a.text)) {
		a.lines <- string(p)
	}
	return len(p), nil
}

// logOf returns a logger, and what it tells of the cluster.
func logOf(text string) (*slog.Logger, <-chan string) {
	a := &awaited{text, make(chan string, 100)}
	return slog.New(slog.NewTextHandler(a, nil)), a.lines
}

// TestAnotherSecretIsFoundOut: two hosts of one store with other secrets say so before
// a caller waits for a run, each of the other, and what changes.
func TestAnotherSecretIsFoundOut(t *testing.T) {
	t.Parallel()
	shared := newSharedRuns()
	log, lines := logOf("hosts of the cluster")
	theirs, others := logOf("hosts of the cluster")
	start(t, host.Config{Store: shared.of("well"), Logger: theirs, Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}})
	another := func() (string, error) { return "another secret of thirty-two bytes", nil }
	odd := start(t, host.Config{Store: shared.of("odd"), Logger: log, Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: another}})
	if line := <-lines; !strings.Contains(line, "well at "+shared.addressOf("well")+" has another cluster secret") || !strings.Contains(line, "level=WARN") {
		t.Errorf("logged %s", line)
	}
	found := odd.Health(t.Context()).Cluster
	if len(found) != 1 || found[0].Host != "well" || found[0].Kind != "credentials" || !strings.Contains(found[0].Advice, "cluster.secret") {
		t.Errorf("found %+v", found)
	}
	if n := metricOf(t, odd, "quoin_cluster_faults", "credentials"); n != 1 {
		t.Errorf("the metric counts %v", n)
	}
	if line := <-others; !strings.Contains(line, "odd at ") {
		t.Errorf("the other host logged %s", line)
	}
}

// TestAHostCanBeCheckedFromOutside asks hosts as doctor does.
func TestAHostCanBeCheckedFromOutside(t *testing.T) {
	t.Parallel()
	shared, _, holder, _ := startPeers(t)
	c := host.ClusterConfig{Secret: clusterSecret}
	if found, err := host.CheckCluster(t.Context(), c, shared.of("doctor")); err != nil || len(found) != 0 {
		t.Errorf("all is well: %+v, %v", found, err)
	}
	shared.advertise("other", shared.addressOf("holder"))
	found, err := host.CheckCluster(t.Context(), c, shared.of("doctor"))
	if err != nil || len(found) != 1 || found[0].Host != "other" || found[0].Kind != "other_host" {
		t.Errorf("an address of another host: %+v, %v", found, err)
	}
	if f := holder.Health(t.Context()).Cluster; f == nil {
		t.Error("a host of a cluster does not check it")
	}
	if found, err := host.CheckCluster(t.Context(), host.ClusterConfig{}, shared.of("doctor")); err != nil || found != nil {
		t.Errorf("without a cluster: %+v, %v", found, err)
	}
}
