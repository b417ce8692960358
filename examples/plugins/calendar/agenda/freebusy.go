package agenda

import (
	"slices"
	"strings"
	"time"
)

// Limits of one free/busy answer.
const (
	defaultSlots = 20
	maxSlots     = 500
	slotStep     = 15 * time.Minute
)

// FreeBusyOptions say what counts as time to meet.
type FreeBusyOptions struct {
	WorkingHours *WorkingHours `json:"workingHours,omitempty" jsonschema:"look only inside these hours; without them the whole range counts, nights too"`
	SlotMinutes  int           `json:"slotMinutes,omitempty" min:"1" max:"1440" jsonschema:"also cut the free time into slots of this length, which start at quarters of an hour"`
	MaxSlots     int           `json:"maxSlots,omitempty" min:"1" max:"500" jsonschema:"at most this many slots, earliest first; default 20"`
}

// WorkingHours are the same stretch of local time on some days of the week.
type WorkingHours struct {
	From string   `json:"from" jsonschema:"start of the working day, such as 09:00"`
	To   string   `json:"to" jsonschema:"end of the working day, such as 17:30"`
	Days []string `json:"days,omitempty" enum:"MO,TU,WE,TH,FR,SA,SU" jsonschema:"working days; default Monday to Friday"`
}

// FreeBusy is the answer: what is taken and what is not, in order.
type FreeBusy struct {
	Busy  []Interval `json:"busy" jsonschema:"taken time inside the working hours; overlapping events are joined"`
	Free  []Interval `json:"free" jsonschema:"the rest of the working hours"`
	Slots []Interval `json:"slots" jsonschema:"free slots of slotMinutes that do not overlap; empty without slotMinutes"`
}

// Interval is a stretch of time in the zone of the range.
type Interval struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// hours is WorkingHours, checked.
type hours struct {
	from, to time.Duration // since midnight, on the wall
	days     map[time.Weekday]bool
}

var weekdays = map[string]time.Weekday{
	"MO": time.Monday, "TU": time.Tuesday, "WE": time.Wednesday, "TH": time.Thursday,
	"FR": time.Friday, "SA": time.Saturday, "SU": time.Sunday,
}

func (h *WorkingHours) check(p *problems) *hours {
	if h == nil {
		return nil
	}
	out := &hours{from: clock(p, "workingHours.from", h.From), to: clock(p, "workingHours.to", h.To), days: map[time.Weekday]bool{}}
	if len(*p) == 0 && out.to <= out.from {
		p.add("workingHours.to", "must be after from, on the same day")
	}
	days := h.Days
	if len(days) == 0 {
		days = []string{"MO", "TU", "WE", "TH", "FR"}
	}
	for _, name := range days {
		day, ok := weekdays[strings.ToUpper(name)]
		if !ok {
			p.add("workingHours.days", "must be MO, TU, WE, TH, FR, SA or SU, not %q", name)
		}
		out.days[day] = true
	}
	return out
}

// clock reads a time of day; 24:00 is the end of the day.
func clock(p *problems, field, text string) time.Duration {
	if text == "24:00" {
		return 24 * time.Hour
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		p.add(field, "must be a time such as 09:00, not %q", text)
		return 0
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// within returns the parts of w that are working time in loc.
func (h *hours) within(w window, loc *time.Location) []window {
	if h == nil {
		return []window{w}
	}
	var out []window
	from := w.from.In(loc)
	for day := 0; ; day++ {
		// A time of day, and not a length from midnight, which days with a change of the clocks differ in.
		at := func(clock time.Duration) time.Time {
			return time.Date(from.Year(), from.Month(), from.Day()+day, 0, int(clock/time.Minute), 0, 0, loc)
		}
		if !at(0).Before(w.to) {
			return merge(out)
		}
		part := clip(window{at(h.from), at(h.to)}, w)
		if h.days[at(12*time.Hour).Weekday()] && part.from.Before(part.to) {
			out = append(out, part)
		}
	}
}

func clip(w, to window) window {
	if w.from.Before(to.from) {
		w.from = to.from
	}
	if w.to.After(to.to) {
		w.to = to.to
	}
	return w
}

// merge joins windows that touch or overlap and drops empty ones.
func merge(windows []window) []window {
	sorted := slices.SortedFunc(slices.Values(windows), func(a, b window) int { return a.from.Compare(b.from) })
	var out []window
	for _, w := range sorted {
		last := len(out) - 1
		switch {
		case !w.from.Before(w.to):
		case last < 0 || w.from.After(out[last].to):
			out = append(out, w)
		case w.to.After(out[last].to):
			out[last].to = w.to
		}
	}
	return out
}

// split divides working windows into busy and free ones. Both lists, and what
// they are made of, are in order and do not overlap.
func split(working, busy []window) (taken, free []window) {
	busy = merge(busy)
	for _, w := range working {
		at := w.from
		for _, b := range busy {
			part := clip(b, w)
			if !part.from.Before(part.to) {
				continue
			}
			taken = append(taken, part)
			if at.Before(part.from) {
				free = append(free, window{at, part.from})
			}
			at = part.to
		}
		if at.Before(w.to) {
			free = append(free, window{at, w.to})
		}
	}
	return taken, free
}

// slots cuts free windows into pieces of a length that start on the step, as
// the clock in loc shows it.
func slots(free []window, length time.Duration, limit int, loc *time.Location) []window {
	var out []window
	for _, w := range free {
		for at := align(w.from, loc); !at.Add(length).After(w.to); at = align(at.Add(length), loc) {
			if len(out) == limit {
				return out
			}
			out = append(out, window{at, at.Add(length)})
		}
	}
	return out
}

// align moves at forward to the next step past the local hour.
func align(at time.Time, loc *time.Location) time.Time {
	l := at.In(loc)
	past := time.Duration(l.Minute())*time.Minute + time.Duration(l.Second())*time.Second
	if rest := past % slotStep; rest != 0 {
		return at.Add(slotStep - rest)
	}
	return at
}

func intervals(windows []window, loc *time.Location) []Interval {
	out := make([]Interval, len(windows))
	for i, w := range windows {
		out[i] = Interval{w.from.In(loc).Format(time.RFC3339), w.to.In(loc).Format(time.RFC3339)}
	}
	return out
}

// answer puts a free/busy answer together.
func (o FreeBusyOptions) answer(found []Occurrence, w window, loc *time.Location) (FreeBusy, error) {
	var p problems
	working, limit := o.WorkingHours.check(&p), o.MaxSlots
	if limit == 0 {
		limit = defaultSlots
	}
	if limit < 1 || limit > maxSlots {
		p.add("maxSlots", "must be from 1 to %d", maxSlots)
	}
	if o.SlotMinutes < 0 || o.SlotMinutes > 24*60 {
		p.add("slotMinutes", "must be from 1 to %d", 24*60)
	}
	if err := p.err(); err != nil {
		return FreeBusy{}, err
	}
	var busy []window
	for _, occurrence := range found {
		busy = append(busy, occurrence.at)
	}
	taken, free := split(working.within(w, loc), busy)
	out := FreeBusy{Busy: intervals(taken, loc), Free: intervals(free, loc), Slots: []Interval{}}
	if o.SlotMinutes > 0 {
		out.Slots = intervals(slots(free, time.Duration(o.SlotMinutes)*time.Minute, limit, loc), loc)
	}
	return out, nil
}
