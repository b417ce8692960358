package agenda

import (
	"errors"
	"fmt"
	"slices"
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

// ruleParts are the parts of RFC 5545 that are understood. Rules finer than a
// day are left out: they say nothing that an event's own start does not.
var ruleParts = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"}

// Rule is a checked recurrence rule. The zero Rule repeats nothing.
type Rule struct {
	text   string // canonical; UNTIL is a wall-clock time of the event's zone
	option rrule.ROption
}

// ParseRule reads an RFC 5545 rule such as "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10".
// An UNTIL in UTC is turned into wall-clock time of loc, one that is only a
// date includes that whole day.
func ParseRule(text string, loc *time.Location) (Rule, error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	text = strings.TrimPrefix(text, "RRULE:")
	if text == "" {
		return Rule{}, nil
	}
	if len(text) > maxRule {
		return Rule{}, fmt.Errorf("is longer than %d bytes", maxRule)
	}
	var kept []string
	var until Wall
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		if !slices.Contains(ruleParts, name) {
			return Rule{}, fmt.Errorf("has the part %q; known are %s", part, strings.Join(ruleParts, ", "))
		}
		if name != "UNTIL" {
			kept = append(kept, part)
			continue
		}
		var err error
		if until, err = parseUntil(value, loc); err != nil {
			return Rule{}, err
		}
	}
	option, err := rrule.StrToROption(strings.Join(kept, ";"))
	if err != nil {
		return Rule{}, fmt.Errorf("is not a recurrence rule: %v", err)
	}
	option.Until = until.t
	if err := checkOption(option, kept); err != nil {
		return Rule{}, err
	}
	return Rule{text: strings.Join(kept, ";"), option: *option}.canonical(), nil
}

func checkOption(option *rrule.ROption, parts []string) error {
	switch {
	case option.Freq > rrule.DAILY:
		return errors.New("repeats more often than daily; use FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
	case option.Count < 0 || option.Count > maxCount:
		return fmt.Errorf("must have a COUNT from 1 to %d", maxCount)
	case option.Count > 0 && !option.Until.IsZero():
		return errors.New("has both COUNT and UNTIL; keep one")
	case option.Interval < 0 || option.Interval > maxInterval:
		return fmt.Errorf("must have an INTERVAL from 1 to %d", maxInterval)
	case slices.Contains(parts, "COUNT=0"), slices.Contains(parts, "INTERVAL=0"):
		return errors.New("has a COUNT or INTERVAL of zero")
	}
	if _, err := rrule.NewRRule(*option); err != nil {
		return fmt.Errorf("is not a recurrence rule: %v", err)
	}
	return nil
}

// untilLayouts are the ways in which an UNTIL may be written, and whether it
// then is in UTC.
var untilLayouts = map[string]bool{"20060102T150405Z": true, "20060102T150405": false, "20060102": false}

func parseUntil(value string, loc *time.Location) (Wall, error) {
	for layout, utc := range untilLayouts {
		t, err := time.Parse(layout, value)
		switch {
		case err != nil:
			continue
		case utc:
			return WallOf(t, loc), nil
		case layout == "20060102":
			return Wall{t.Add(24*time.Hour - time.Second)}, nil
		}
		return Wall{t}, nil
	}
	return Wall{}, fmt.Errorf("must have an UNTIL such as 20261231 or 20261231T235959Z, not %q", value)
}

// canonical puts the UNTIL back at the end of the text.
func (r Rule) canonical() Rule {
	if !r.option.Until.IsZero() {
		r.text += ";UNTIL=" + r.option.Until.Format("20060102T150405")
	}
	return r
}

// String returns the rule in RFC 5545 form, with any UNTIL in wall-clock time.
func (r Rule) String() string { return r.text }

// Repeats reports whether there is a rule at all.
func (r Rule) Repeats() bool { return r.text != "" }

// before returns the rule as it is for the members ahead of w only.
func (r Rule) before(w Wall) Rule {
	r.option.Count = 0
	r.option.Until = w.t.Add(-time.Second)
	parts := slices.DeleteFunc(strings.Split(r.text, ";"), func(part string) bool {
		return strings.HasPrefix(part, "COUNT=") || strings.HasPrefix(part, "UNTIL=")
	})
	r.text = strings.Join(parts, ";")
	return r.canonical()
}

// walls returns the members of the series that starts at start, from included,
// to not. The zero Rule has the start alone.
func (r Rule) walls(start, from, to Wall) ([]Wall, error) {
	if !r.Repeats() {
		if start.Before(from) || !start.Before(to) {
			return nil, nil
		}
		return []Wall{start}, nil
	}
	option := r.option
	option.Dtstart = start.t
	if last := to.t.Add(-time.Second); option.Until.IsZero() || option.Until.After(last) {
		option.Until = last // nothing behind the window is computed
	}
	rule, err := rrule.NewRRule(option)
	if err != nil {
		return nil, fmt.Errorf("expand %q: %w", r.text, err)
	}
	var out []Wall
	next := rule.Iterator()
	for t, ok := next(); ok; t, ok = next() {
		if t.Before(from.t) {
			continue
		}
		if len(out) == maxOccurrences {
			return nil, tooMuch(maxOccurrences)
		}
		out = append(out, Wall{t})
	}
	return out, nil
}

// first returns the first member at or after start, if there is one within a
// hundred years.
func (r Rule) first(start Wall) (Wall, bool) {
	option := r.option
	option.Dtstart = start.t
	if last := start.t.AddDate(100, 0, 0); option.Until.IsZero() || option.Until.After(last) {
		option.Until = last
	}
	rule, err := rrule.NewRRule(option)
	if err != nil {
		return Wall{}, false
	}
	t, ok := rule.Iterator()()
	return Wall{t}, ok
}
