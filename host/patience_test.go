package host

import (
	"testing"
	"time"
)

// TestTheCountdownPausesForPeople: what they take is added to the deadline, and
// taken from the patience there is for them.
func TestTheCountdownPausesForPeople(t *testing.T) {
	const hour = time.Hour
	r := &run{}
	deadline := time.Now().Add(hour)
	l := &leg{run: r, deadline: deadline, patience: hour}
	c := l.countdown()
	defer c.stop()
	if c.update() || !c.paused.IsZero() {
		t.Fatal("nobody is asked, but the countdown is paused or over")
	}
	r.approving = 1
	if c.update() || c.paused.IsZero() {
		t.Fatal("a person is asked, but the countdown runs or is over")
	}
	c.paused = c.paused.Add(-hour / 2)
	if c.update() {
		t.Fatal("half of the patience is left, but the countdown is over")
	}
	r.approving = 0
	if c.update() || l.deadline.Before(deadline.Add(hour/2)) || r.deadline != l.deadline {
		t.Errorf("half an hour for a person moved the deadline by %v", l.deadline.Sub(deadline))
	}
	r.approving = 1
	c.update()
	c.paused = c.paused.Add(-hour / 2)
	if !c.update() {
		t.Error("the patience has been used up, but the countdown goes on")
	}
	c.stop()
	if l.patience != 0 || l.deadline.Before(deadline.Add(hour)) {
		t.Errorf("patience %v, deadline moved by %v", l.patience, l.deadline.Sub(deadline))
	}
}
