package observe

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestProgressIsPaced(t *testing.T) {
	var p progressLimiter
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	count := func(n int, step time.Duration) (admitted int) {
		for range n {
			if p.admit(now) {
				admitted++
			}
			now = now.Add(step)
		}
		return admitted
	}
	if got := count(500, 0); got != progressBurst {
		t.Errorf("%d of 500 at once, want the burst of %d", got, progressBurst)
	}
	now = now.Add(time.Second)
	if got := count(500, 0); got != progressPerSecond {
		t.Errorf("%d of 500 a second later, want %d", got, progressPerSecond)
	}
	now = now.Add(time.Hour)
	if got := count(progressBurst, 0); got != progressBurst {
		t.Errorf("%d after an hour, want another burst of %d", got, progressBurst)
	}
	if got := count(5000, time.Second); got != maxProgress-2*progressBurst-progressPerSecond {
		t.Errorf("%d more, want %d in all", got, maxProgress)
	}
}

func TestSteps(t *testing.T) {
	for progress, want := range map[string]float64{
		`{"done":1,"total":4,"message":"x"}`: 0.25,
		`{"done":5,"total":4}`:               1,
		`{"done":-1,"total":4}`:              0,
		`{"done":1}`:                         0,
		`{"done":1,"total":0}`:               0,
		`{"done":"1","total":"4"}`:           0,
		`"half"`:                             0,
		`[1,2]`:                              0,
		``:                                   0,
	} {
		if got, _ := stepsOf(json.RawMessage(progress)); got != want {
			t.Errorf("%s: %v, want %v", progress, got, want)
		}
	}
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	if _, got := stepsOf(json.RawMessage(`{"message":"page 7 with ` + secret + `"}`)); !strings.HasPrefix(got, "page 7 with ") || strings.Contains(got, secret) {
		t.Errorf("the message is %q", got)
	}
}
