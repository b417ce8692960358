package host

import "time"

// countdown is the time that is left while the guest waits for its calls. It
// pauses while people are asked: what they take is not the program's. But a caller
// does not hang on them for ever: after one more full timeout of theirs the run
// is suspended.
type countdown struct {
	leg    *leg
	timer  *time.Timer
	paused time.Time // since when; zero: it runs
}

// countdown begins to count down to the deadline of the leg.
func (l *leg) countdown() *countdown {
	c := &countdown{leg: l, timer: time.NewTimer(time.Until(l.deadline) - l.margin)}
	c.update()
	return c
}

// update pauses the countdown or lets it go on, as the run is now. It reports
// whether the time is over.
func (c *countdown) update() (over bool) {
	l := c.leg
	switch asked := l.run.peopleAsked(); {
	case asked && c.paused.IsZero():
		c.paused = time.Now()
		c.timer.Reset(l.patience)
	case !asked && !c.paused.IsZero():
		c.resume()
	}
	if c.paused.IsZero() {
		return time.Until(l.deadline) <= l.margin
	}
	return time.Since(c.paused) >= l.patience
}

// resume lets the countdown go on from where it was paused.
func (c *countdown) resume() {
	l, d := c.leg, time.Since(c.paused)
	c.paused = time.Time{}
	l.patience = max(l.patience-d, 0)
	l.until(l.deadline.Add(d))
	c.timer.Reset(time.Until(l.deadline) - l.margin)
}

// stop ends the countdown; what it was paused is added to the deadline.
func (c *countdown) stop() {
	if !c.paused.IsZero() {
		c.resume()
	}
	c.timer.Stop()
}
