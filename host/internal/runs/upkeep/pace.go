package upkeep

import "time"

// pace says when a store is looked at again, so that a large one is not looked at all the time.
type pace struct {
	every time.Duration
	next  time.Time
}

// look runs a step if it is time for it.
func (p *pace) look(step func()) {
	start := time.Now()
	if start.Before(p.next) {
		return
	}
	step()
	p.next = start.Add(max(p.every, lookShare*time.Since(start)))
}

// lookShare is how much more time passes between two looks at a store than one look takes.
const lookShare = 20
