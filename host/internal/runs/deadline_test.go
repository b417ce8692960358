package runs

import (
	"testing"
	"time"
)

// TestTheCountdownPausesForPeople: the time that people take is added to the deadline
// and taken from the grace for them.
func TestTheCountdownPausesForPeople(t *testing.T) {
	const hour = time.Hour
	deadline := time.Now().Add(hour)
	d := &driver{deadline: deadline, approvalGrace: hour}
	c := d.startTimer(false)
	defer c.stop()
	if c.update(false) || !c.paused.IsZero() {
		t.Fatal("no person is asked, but the countdown is paused or over")
	}
	if c.update(true) || c.paused.IsZero() {
		t.Fatal("a person is asked, but the countdown runs or is over")
	}
	c.paused = c.paused.Add(-hour / 2)
	if c.update(true) {
		t.Fatal("half of the grace is left, but the countdown is over")
	}
	if c.update(false) || d.deadline.Before(deadline.Add(hour/2)) {
		t.Errorf("half an hour for a person moved the deadline by %v", d.deadline.Sub(deadline))
	}
	c.update(true)
	c.paused = c.paused.Add(-hour / 2)
	if !c.update(true) {
		t.Error("the grace has been used up, but the countdown goes on")
	}
	c.stop()
	if d.approvalGrace != 0 || d.deadline.Before(deadline.Add(hour)) {
		t.Errorf("approvalGrace %v, deadline moved by %v", d.approvalGrace, d.deadline.Sub(deadline))
	}
}
