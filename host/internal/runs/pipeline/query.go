package pipeline

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// Queries are the calls that the catalog alone can answer: searches and
// descriptions. A guest can ask thousands of them at once, and each costs the host
// time and the memory of its answer, and both are bounded here.

// AnswerAll answers queries while there is time, and room for their answers. The
// others reject. The catalog gets at most half of the time that the program may compute.
func (r *Run) AnswerAll(ctx context.Context, queries []*calls.Entry, compute time.Duration) {
	if len(queries) == 0 {
		return
	}
	room := maxQueryBytes - r.Calls.WaitingBytes()
	began := time.Now()
	until := began.Add(min(compute/2, r.Env.Times.QueryTime))
	defer func() { r.Calls.Costs.CountQueries(time.Since(began)) }()
	for _, e := range queries {
		c := &call{Entry: e, run: r, budget: queryBudget{until, room}}
		watch := queryWatch{time.Now()}
		for i := range queryStages {
			queryStages[i].step(ctx, c, watch)
		}
		room -= len(c.value)
	}
}
