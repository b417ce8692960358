package pipeline

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// queryBudget is what the answer to one query may cost.
type queryBudget struct {
	until time.Time
	room  int // bytes
}

// halfway is the time between two.
func halfway(now, deadline time.Time) time.Time { return now.Add(deadline.Sub(now) / 2) }

// maxQueryBytes bounds the answers to queries that wait for their guest: what one
// turn carries. A single answer may be larger.
const maxQueryBytes = calls.MaxTurnBytes
