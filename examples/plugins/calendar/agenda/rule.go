package agenda

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// Limits of a rule and of what is made of it.
const (
	maxRule        = 300    // bytes of text
	maxCount       = 10_000 // COUNT
	maxInterval    = 1_000  // INTERVAL
	maxOccurrences = 5_000  // in one answer
)

// rule is a checked recurrence rule. The zero rule repeats nothing.
type rule struct {
	text   string
	option rrule.ROption
}

func (r rule) repeats() bool { return r.text != "" }

// readRule reads an RFC 5545 rule such as "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10".
func readRule(text string, loc *time.Location) (rule, error) {
	text = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "RRULE:")
	if text == "" {
		return rule{}, nil
	}
	option, err := rrule.StrToROptionInLocation(wholeDay(text), loc)
	if err != nil {
		return rule{}, fmt.Errorf("is not a recurrence rule: %v", err)
	}
	return rule{text, *option}, nil
}

// newRule reads the rule of a new event, which must start with the first member: everything
// else counts members in surprising ways.
func newRule(text string, start time.Time) (rule, error) {
	if len(text) > maxRule {
		return rule{}, fmt.Errorf("is longer than %d bytes", maxRule)
	}
	r, err := readRule(text, start.Location())
	if err != nil || !r.repeats() {
		return r, err
	}
	switch o := r.option; {
	case o.Freq > rrule.DAILY, len(o.Byhour)+len(o.Byminute)+len(o.Bysecond) > 0:
		return r, errors.New("repeats more often than daily; use FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
	case o.Count < 0 || o.Count > maxCount, strings.Contains(r.text+";", "COUNT=0;"):
		return r, fmt.Errorf("must have a COUNT from 1 to %d", maxCount)
	case o.Interval < 0 || o.Interval > maxInterval, strings.Contains(r.text+";", "INTERVAL=0;"):
		return r, fmt.Errorf("must have an INTERVAL from 1 to %d", maxInterval)
	}
	switch first, err := r.first(start); {
	case err != nil:
		return r, fmt.Errorf("is not a recurrence rule: %v", err)
	case first.IsZero():
		return r, errors.New("has no member at or after start")
	case !first.Equal(start):
		return r, fmt.Errorf("does not have start as a member; the first one after it is %s", first.Format(time.RFC3339))
	}
	return r, nil
}

// wholeDay has an UNTIL that is only a date include that day.
func wholeDay(text string) string {
	parts := strings.Split(text, ";")
	for i, part := range parts {
		if strings.HasPrefix(part, "UNTIL=") && len(part) == len("UNTIL=20060102") {
			parts[i] = part + "T235959"
		}
	}
	return strings.Join(parts, ";")
}

// bounded is the rule of a series, up to a time: nothing behind it is computed.
func (r rule) bounded(start, last time.Time) (*rrule.RRule, error) {
	option := r.option
	option.Dtstart = start
	if option.Until.IsZero() || option.Until.After(last) {
		option.Until = last
	}
	return rrule.NewRRule(option)
}

// first returns the first member at or after start within a hundred years.
func (r rule) first(start time.Time) (time.Time, error) {
	rule, err := r.bounded(start, start.AddDate(100, 0, 0))
	if err != nil {
		return time.Time{}, err
	}
	first, _ := rule.Iterator()()
	return first, nil
}

// between returns the members of a series that start in a stretch of time.
func (r rule) between(start, from, to time.Time) ([]time.Time, error) {
	if !r.repeats() {
		return []time.Time{start}, nil
	}
	rule, err := r.bounded(start, to)
	if err != nil {
		return nil, fmt.Errorf("expand %q: %w", r.text, err)
	}
	return rule.Between(from, to, true), nil
}
