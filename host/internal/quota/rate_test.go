package quota

import (
	"testing"
	"time"
)

// TestRate: a session may use its share in an hour, and again once that is over.
func TestRate(t *testing.T) {
	r := NewRate("cpu", "seconds", "some.setting", 10, 1000, Shares{50, 100})
	now := time.Now()
	r.Add(mallory, 0, now)
	for range 5 {
		if d := r.Denied(mallory, now); d != nil {
			t.Fatal(d)
		}
		r.Add(mallory, 1000, now)
		now = now.Add(10 * time.Minute)
	}
	d := r.Denied(mallory, now)
	if d == nil || d.Error() != "this session has 5 seconds and wants 1 more, but may have 5 of the host's 10 (settings quotas.sessionPercent: 50 and some.setting)" {
		t.Errorf("got %v", d)
	}
	if d := r.Denied(alice, now); d != nil {
		t.Errorf("alice gets nothing: %v", d)
	}
	r.Add(alice, 7000, now) // one use may go beyond the limit
	if d := r.Denied(Owner{"c", "carol"}, now); d == nil || d.Whose != OfHost {
		t.Errorf("got %v", d)
	}
	now = now.Add(11 * time.Minute) // the first use was 61 minutes ago
	if d := r.Denied(mallory, now); d == nil || d.Whose != OfHost {
		t.Errorf("the host: %v", d)
	}
	if got := r.Used(now); got != 11000 {
		t.Errorf("%d parts are used", got)
	}
	now = now.Add(2 * time.Hour)
	if d := r.Denied(mallory, now); d != nil || r.Used(now) != 0 || len(r.past) != 0 || len(r.meter.sessions) != 0 {
		t.Errorf("%v, %d, %v", d, r.Used(now), r.past)
	}
}
