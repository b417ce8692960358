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
)

// FreeBusyOptions say what counts as time to meet.
type FreeBusyOptions struct {
	WorkingHours *WorkingHours `json:"workingHours,omitempty" jsonschema:"look only inside these hours; without them the whole range counts, nights too"`
	Attendees    []string      `json:"attendees,omitempty" jsonschema:"count only events of at least one of these addresses, and events that are for everybody"`
	SlotMinutes  int           `json:"slotMinutes,omitempty" min:"1" max:"1440" jsonschema:"also cut the free time into slots of this length"`
	StepMinutes  int           `json:"stepMinutes,omitempty" min:"1" max:"60" jsonschema:"slots start at multiples of this many minutes past the hour; a divisor of 60, default 15"`
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
func (h *hours) within(w Window, loc *time.Location) []Window {
	if h == nil {
		return []Window{w}
	}
	var out []Window
	for day := WallOf(w.From, loc).Date(); ; day = day.AddDays(1) {
		if !day.At(loc).Before(w.To) {
			return merge(out)
		}
		if !h.days[day.t.Weekday()] {
			continue
		}
		part := clip(Window{Wall{day.t.Add(h.from)}.At(loc), Wall{day.t.Add(h.to)}.At(loc)}, w)
		if part.From.Before(part.To) {
			out = append(out, part)
		}
	}
}

func clip(w, to Window) Window {
	if w.From.Before(to.From) {
		w.From = to.From
	}
	if w.To.After(to.To) {
		w.To = to.To
	}
	return w
}

// merge joins windows that touch or overlap and drops empty ones.
func merge(windows []Window) []Window {
	sorted := slices.SortedFunc(slices.Values(windows), func(a, b Window) int { return a.From.Compare(b.From) })
	var out []Window
	for _, w := range sorted {
		last := len(out) - 1
		switch {
		case !w.From.Before(w.To):
		case last < 0 || w.From.After(out[last].To):
			out = append(out, w)
		case w.To.After(out[last].To):
			out[last].To = w.To
		}
	}
	return out
}

// split divides working windows into busy and free ones. Both lists, and what
// they are made of, are in order and do not overlap.
func split(working, busy []Window) (taken, free []Window) {
	busy = merge(busy)
	for _, w := range working {
		at := w.From
		for _, b := range busy {
			part := clip(b, w)
			if !part.From.Before(part.To) {
				continue
			}
			taken = append(taken, part)
			if at.Before(part.From) {
				free = append(free, Window{at, part.From})
			}
			at = part.To
		}
		if at.Before(w.To) {
			free = append(free, Window{at, w.To})
		}
	}
	return taken, free
}

// slots cuts free windows into pieces of a length that start on the step, as
// the clock in loc shows it.
func slots(free []Window, length, step time.Duration, limit int, loc *time.Location) []Window {
	var out []Window
	for _, w := range free {
		for at := align(w.From, step, loc); !at.Add(length).After(w.To); at = align(at.Add(length), step, loc) {
			if len(out) == limit {
				return out
			}
			out = append(out, Window{at, at.Add(length)})
		}
	}
	return out
}

// align moves at forward to the next multiple of step past the local hour.
func align(at time.Time, step time.Duration, loc *time.Location) time.Time {
	l := at.In(loc)
	past := time.Duration(l.Minute())*time.Minute + time.Duration(l.Second())*time.Second + time.Duration(l.Nanosecond())
	if rest := past % step; rest != 0 {
		return at.Add(step - rest)
	}
	return at
}

func intervals(windows []Window, loc *time.Location) []Interval {
	out := make([]Interval, len(windows))
	for i, w := range windows {
		out[i] = Interval{w.From.In(loc).Format(time.RFC3339), w.To.In(loc).Format(time.RFC3339)}
	}
	return out
}

// blocks reports whether an occurrence takes time from any of who. Events
// without attendees are for everyone, and an empty who means everyone.
func blocks(o Occurrence, who []string) bool {
	if o.Transparent {
		return false
	}
	if len(who) == 0 || len(o.Attendees) == 0 {
		return true
	}
	return slices.ContainsFunc(o.Attendees, func(a string) bool { return slices.Contains(who, a) })
}

// answer puts a free/busy answer together.
func (o FreeBusyOptions) answer(found []Occurrence, w Window, loc *time.Location) (FreeBusy, error) {
	var p problems
	working := o.WorkingHours.check(&p)
	who := attendees(&p, o.Attendees)
	step, limit := o.StepMinutes, o.MaxSlots
	if step == 0 {
		step = 15
	}
	if limit == 0 {
		limit = defaultSlots
	}
	if step < 1 || step > 60 || 60%step != 0 {
		p.add("stepMinutes", "must divide 60")
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
	var busy []Window
	for _, occurrence := range found {
		if blocks(occurrence, who) {
			busy = append(busy, occurrence.at)
		}
	}
	taken, free := split(working.within(w, loc), busy)
	out := FreeBusy{Busy: intervals(taken, loc), Free: intervals(free, loc), Slots: []Interval{}}
	if o.SlotMinutes > 0 {
		cut := slots(free, time.Duration(o.SlotMinutes)*time.Minute, time.Duration(step)*time.Minute, limit, loc)
		out.Slots = intervals(cut, loc)
	}
	return out, nil
}
