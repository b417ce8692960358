package host

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
)

// How many progress events one call makes: a burst, then a steady rate, and so many
// in all. What a tool reports beyond is dropped: the next one tells more.
const (
	progressBurst     = 100
	progressPerSecond = 20
	maxProgress       = 1000
)

// pace holds the progress events of one call to that. The zero value is ready.
type pace struct {
	mu     sync.Mutex
	told   int
	spent  float64 // of the burst
	newest time.Time
}

// admit reports whether one more event may be told at that time.
func (p *pace) admit(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = max(p.spent-now.Sub(p.newest).Seconds()*progressPerSecond, 0)
	p.newest = now
	if p.told == maxProgress || p.spent > progressBurst-1 {
		return false
	}
	p.told++
	p.spent++
	return true
}

// maxSteps bounds the progress that is looked into.
const maxSteps = 64 << 10

// share is how far a call is, from 0 to 1, if its progress says so: an object with
// the numbers done and total.
func share(progress json.RawMessage) float64 {
	var steps struct{ Done, Total float64 }
	if len(progress) > maxSteps || !bytes.HasPrefix(progress, []byte("{")) || json.Unmarshal(progress, &steps) != nil || steps.Total <= 0 {
		return 0
	}
	return min(max(steps.Done/steps.Total, 0), 1)
}
