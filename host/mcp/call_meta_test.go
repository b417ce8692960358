package mcp

import (
	"strings"
	"testing"
)

// TestCallsSayWhichTheyAre: attempts of one call have one key on every host, a host that
// takes the run over has a higher epoch, and the ids themselves stay here.
func TestCallsSayWhichTheyAre(t *testing.T) {
	t.Parallel()
	meta := func(key string, epoch uint64) map[string]any {
		return callMeta(&Request{RunID: "run_1", IdempotencyKey: key, Epoch: epoch}, nil)
	}
	first, second, other := meta("run_1:1", 1), meta("run_1:1", 2), meta("run_1:2", 2)
	if first[metaIdempotencyKey] != second[metaIdempotencyKey] || second[metaIdempotencyKey] == other[metaIdempotencyKey] {
		t.Errorf("the keys are %v, %v and %v", first, second, other)
	}
	if first[metaRun] != other[metaRun] || first[metaEpoch] != uint64(1) || second[metaEpoch] != uint64(2) {
		t.Errorf("the runs are %v, %v and %v", first, second, other)
	}
	for name, value := range first {
		if text, ok := value.(string); ok && strings.Contains(text, "run_1") {
			t.Errorf("%s says which run it is: %s", name, text)
		}
	}
	if fresh := meta("run_1:1", 0); len(fresh) != 2 {
		t.Errorf("a run that was never suspended has %v", fresh)
	}
	if meta := callMeta(&Request{}, nil); meta != nil {
		t.Errorf("a request without a call has %v", meta)
	}
}
