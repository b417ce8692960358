package tracker

import (
	"slices"
	"strings"
	"time"
)

// Page sizes.
const (
	defaultLimit = 20
	maxLimit     = 100
	maxWords     = 10 // words of one text filter
)

// Filter selects issues. All conditions must hold; the zero Filter means the
// open issues, latest change first.
type Filter struct {
	State      string   `json:"state,omitempty" enum:"open,closed,all" jsonschema:"open (default), closed or all"`
	Labels     []string `json:"labels,omitempty" jsonschema:"only issues that carry every one of these labels"`
	AnyLabels  []string `json:"anyLabels,omitempty" jsonschema:"only issues that carry at least one of these labels"`
	Assignee   string   `json:"assignee,omitempty" jsonschema:"only issues assigned to exactly this name"`
	Unassigned bool     `json:"unassigned,omitempty" jsonschema:"only issues assigned to nobody"`
	Text       string   `json:"text,omitempty" jsonschema:"only issues whose title or body contains every one of these words; case does not matter"`
	Since      string   `json:"since,omitempty" jsonschema:"only issues changed at or after this moment: RFC 3339 such as 2026-03-01T09:00:00Z, or a date, which means midnight UTC"`
	Sort       string   `json:"sort,omitempty" enum:"updated,created,title" jsonschema:"updated (default), created or title"`
	Order      string   `json:"order,omitempty" enum:"asc,desc" jsonschema:"asc or desc; default desc, for title asc"`
	Limit      int      `json:"limit,omitempty" min:"1" max:"100" jsonschema:"items per page, 1 to 100, default 20"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"nextCursor of the previous page, with the same filter; leave out for the first page"`
}

// Page is one page of the answer to a Filter.
type Page struct {
	Items      []Issue `json:"items"`
	NextCursor string  `json:"nextCursor,omitempty" jsonschema:"pass as cursor to get the next page; absent on the last one"`
	Total      int     `json:"total" jsonschema:"how many issues match, on all pages together"`
}

// query is a checked Filter with its defaults filled in.
type query struct {
	state, assignee, sort string
	unassigned, desc      bool
	all, any, words       []string
	since                 time.Time
	limit                 int
}

func (f Filter) check() (query, error) {
	var p problems
	q := query{
		state:      oneOf(&p, "state", f.State, Open, Closed, "all"),
		sort:       oneOf(&p, "sort", f.Sort, "updated", "created", "title"),
		all:        checkLabels(&p, "labels", f.Labels),
		any:        checkLabels(&p, "anyLabels", f.AnyLabels),
		assignee:   checkAssignee(&p, f.Assignee),
		unassigned: f.Unassigned,
		words:      strings.Fields(strings.ToLower(f.Text)),
		since:      checkSince(&p, f.Since),
		limit:      f.Limit,
	}
	order := "desc"
	if q.sort == "title" {
		order = "asc"
	}
	if f.Order != "" {
		order = oneOf(&p, "order", f.Order, "asc", "desc")
	}
	q.desc = order == "desc"
	if q.unassigned && q.assignee != "" {
		p.add("unassigned", "cannot be combined with assignee")
	}
	if len(q.words) > maxWords {
		p.add("text", "must hold at most %d words", maxWords)
	}
	if q.limit == 0 {
		q.limit = defaultLimit
	}
	if q.limit < 1 || q.limit > maxLimit {
		p.add("limit", "must be from 1 to %d", maxLimit)
	}
	return q, p.err()
}

// oneOf checks a word against the allowed ones; the empty word means the first.
func oneOf(p *problems, field, got string, allowed ...string) string {
	if got == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, got) {
		p.add(field, "must be one of %s, not %q", strings.Join(allowed, ", "), got)
	}
	return got
}

func checkSince(p *problems, since string) time.Time {
	if since == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, since); err == nil {
			return t.UTC()
		}
	}
	p.add("since", "must be a moment such as 2026-03-01T09:00:00Z or a date such as 2026-03-01, not %q", since)
	return time.Time{}
}
