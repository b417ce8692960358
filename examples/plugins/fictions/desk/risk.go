package desk

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// soonDays is how near a date of publication is when it counts as near.
const soonDays = 21

// Risk is a story that needs attention.
type Risk struct {
	ID      string   `json:"id" jsonschema:"story id such as F-101"`
	Title   string   `json:"title"`
	Status  string   `json:"status"`
	Due     string   `json:"due" jsonschema:"date of publication"`
	Level   string   `json:"level" jsonschema:"high or medium"`
	Reasons []string `json:"reasons"`
}

// Audit is all risks of one day, the gravest first.
type Audit struct {
	AsOf    string `json:"asOf" jsonschema:"the date reckoned from"`
	Stories int    `json:"stories" jsonschema:"how many stories were looked at"`
	Risks   []Risk `json:"risks"`
}

// RiskAudit looks at every story.
func (d *Desk) RiskAudit(ctx context.Context) (Audit, error) {
	out := Audit{AsOf: d.today(), Risks: []Risk{}}
	err := d.db.Read(ctx, func(tx *sql.Tx) error {
		all, err := d.stories(ctx, tx)
		if err != nil {
			return err
		}
		out.Stories = len(all)
		for _, s := range all {
			level, reasons := s.risks(out.AsOf)
			if len(reasons) > 0 {
				out.Risks = append(out.Risks, Risk{ID: s.id, Title: s.title, Status: s.status, Due: s.due, Level: level, Reasons: reasons})
			}
		}
		return nil
	})
	// Stories come by date; a stable sort keeps that inside each level.
	slices.SortStableFunc(out.Risks, func(a, b Risk) int { return weight(b.Level) - weight(a.Level) })
	return out, err
}

func weight(level string) int {
	if level == "high" {
		return 1
	}
	return 0
}

// risks returns what is worrying about a story on a day. One reason is medium,
// several are high, and so is a story that is late.
func (s story) risks(today string) (level string, reasons []string) {
	late := s.status != "published" && s.due < today
	soon := s.status != "published" && !late && s.due <= plusDays(today, soonDays)
	if late {
		reasons = append(reasons, "publication was due "+s.due)
	}
	if soon && s.words < s.target {
		reasons = append(reasons, fmt.Sprintf("due %s with %d of %d words", s.due, s.words, s.target))
	}
	if s.editor == "" && (s.status == "edit" || s.status == "proof") {
		reasons = append(reasons, "it has no editor")
	}
	if s.overdue > 0 {
		reasons = append(reasons, fmt.Sprintf("overdue invoices: %d", s.overdue))
	}
	if late || len(reasons) > 1 {
		return "high", reasons
	}
	return "medium", reasons
}

// plusDays returns the date n days later. Dates in the file are well formed.
func plusDays(date string, n int) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.AddDate(0, 0, n).Format(time.DateOnly)
}
