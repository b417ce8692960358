package mcp

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAPauseThatAQuestionEnds: a host that stood still takes the question of a server before
// its own timer. The call keeps the time that it had.
func TestAPauseThatAQuestionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		c := newClock(2*time.Second, func() { ended = time.Now() })
		c.timer.Stop() // as if this process did not run
		time.Sleep(time.Minute)
		c.pause()
		c.resume()
		resumed := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := ended.Sub(resumed); left <= time.Second {
			t.Errorf("the call has %s left, of two seconds", left)
		}
	})
}
