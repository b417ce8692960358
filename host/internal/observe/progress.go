package observe

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/redact"
)

// How many progress events one call makes: a burst, then a steady rate, up to a total.
// Further reports are dropped, because the next event tells more.
const (
	progressBurst     = 100
	progressPerSecond = 20
	maxProgress       = 1000
)

// progressLimiter keeps one call within these limits. The zero value is ready.
type progressLimiter struct {
	mu     sync.Mutex
	events int
	spent  float64 // of the burst
	newest time.Time
}

// admit reports whether one more event may be emitted at that time.
func (p *progressLimiter) admit(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = max(p.spent-now.Sub(p.newest).Seconds()*progressPerSecond, 0)
	p.newest = now
	if p.events == maxProgress || p.spent > progressBurst-1 {
		return false
	}
	p.events++
	p.spent++
	return true
}

// maxSteps bounds the progress reports that are parsed, in bytes.
const maxSteps = 64 << 10

// stepsOf returns how far a call is, from 0 to 1, and what it does, if its progress has the
// form of catalog.Steps.
func stepsOf(progress json.RawMessage) (fraction float64, message string) {
	var steps catalog.Steps
	if len(progress) > maxSteps || !bytes.HasPrefix(progress, []byte("{")) || json.Unmarshal(progress, &steps) != nil {
		return 0, ""
	}
	if steps.Total > 0 {
		fraction = min(max(steps.Done/steps.Total, 0), 1)
	}
	return fraction, redact.Redactor{MaxBytes: maxMessage}.Text(steps.Message)
}
