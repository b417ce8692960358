package bench_test

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// BenchmarkSearchTenThousandTools is the search itself, without a guest.
func BenchmarkSearchTenThousandTools(b *testing.B) {
	c, err := catalog.New(manyTools(10_000), catalog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const query = "which operation has a description of ordinary length"
	c.Search(query, 8) // what is made once
	s := newSamples(row{name: "search, 10,000 tools", goal: "p50 <= 2 ms"})
	for b.Loop() {
		start := time.Now()
		c.Search(query, 8)
		s.d = append(s.d, time.Since(start))
	}
	s.report(b)
}

// BenchmarkExecRules runs under rules that leave half of many tools, and with a
// tool of the caller's.
func BenchmarkExecRules(b *testing.B) {
	h := newHost(b, host.Config{Tools: manyTools(10_000), Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"*_operation*1"}}}})
	measure(b, row{name: "same, 10,000 tools and rules", goal: "<= 1.2x the small catalog", than: trivial}, execOf(h, `return 1+1`), host.StatusCompleted)
}
