package postgres

import (
	"testing"
	"time"
)

// TestTimesOfAHostWhoseClockIsSet sets the clock of a host while it works: a time that it
// has read before or after is the same moment of the database.
func TestTimesOfAHostWhoseClockIsSet(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	asked := time.Now()
	for _, ahead := range []time.Duration{-3 * hour, -time.Minute, 0, time.Minute, 3 * hour} {
		var c databaseClock
		database := asked.Round(0).Add(ahead)
		c.compare(asked, asked.Add(10*time.Millisecond), database.Add(5*time.Millisecond))
		soon := asked.Add(hour)
		if got := c.there(soon); !got.Equal(database.Add(hour)) {
			t.Errorf("%s ahead: an hour later is %s there, %s from then", ahead, got, got.Sub(database))
		}
		back := c.here(c.there(soon))
		if !back.Equal(soon) || back.Sub(asked) != hour || back == back.Round(0) {
			t.Errorf("%s ahead: there and back is %s later, by the clock %s", ahead, back.Sub(asked), back)
		}
		if !c.there(time.Time{}).IsZero() || !c.here(time.Time{}).IsZero() {
			t.Errorf("%s ahead: no time has become one", ahead)
		}
	}
}

func TestClocksThatAreNearAreTheSame(t *testing.T) {
	t.Parallel()
	var c databaseClock
	asked := time.Now()
	c.compare(asked, asked.Add(time.Millisecond), asked.Add(300*time.Millisecond).Round(0))
	soon := asked.Add(time.Hour)
	if got := c.there(soon); got != soon {
		t.Errorf("%s has become %s", soon, got)
	}
	if got := c.here(soon.Round(0)); !got.Equal(soon.Round(0)) {
		t.Errorf("%s has become %s", soon, got)
	}
}

// TestAnAnswerThatTookLongSaysNothingOfTheClock: it may have been on its way for all that
// time, or not at all.
func TestAnAnswerThatTookLongSaysNothingOfTheClock(t *testing.T) {
	t.Parallel()
	var c databaseClock
	asked := time.Now()
	c.compare(asked, asked.Add(3*time.Second), asked.Add(time.Hour))
	if got := c.there(asked); got != asked {
		t.Errorf("%s has become %s", asked, got)
	}
}

// TestASlowDatabaseIsNotAskedForTheTimeByEachWrite: an answer that took long leaves the doubt,
// which the next one may end.
func TestASlowDatabaseIsNotAskedForTheTimeByEachWrite(t *testing.T) {
	t.Parallel()
	var c databaseClock
	now := time.Now()
	c.at.Store(&moment{here: now, wall: now.Add(-time.Hour).Round(0)}) // the machine has slept since
	if !c.doubtful() {
		t.Error("an hour that one clock has missed is not doubtful")
	}
	c.compare(now.Add(-2*time.Second), now.Add(time.Minute), now)
	if c.doubtful() {
		t.Error("the database is asked again at once")
	}
	c.compare(now.Add(-time.Hour), now.Add(-2*sameClock), now)
	if !c.doubtful() {
		t.Error("the database is not asked again")
	}
}
