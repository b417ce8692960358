package desk

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Promotion is the outcome of an attempt to move a story on.
type Promotion struct {
	ID       string   `json:"id" jsonschema:"story id"`
	Promoted bool     `json:"promoted" jsonschema:"true when the story was moved by this call"`
	Status   string   `json:"status" jsonschema:"where the story is now"`
	Blockers []string `json:"blockers" jsonschema:"what is missing; empty when it was moved or is there already"`
}

// PromoteIfReady moves a story to the given status, if that is its next one and
// nothing blocks it. A story that is there already stays; both outcomes are
// answers, not errors.
func (d *Desk) PromoteIfReady(ctx context.Context, id, status string) (Promotion, error) {
	target := slices.Index(Statuses, status)
	if target < 0 {
		return Promotion{}, &Error{
			Code:    CodeInvalidField,
			Message: fmt.Sprintf("There is no status %q; there are %s, in this order.", status, strings.Join(Statuses, ", ")),
			Details: map[string]any{"statuses": Statuses},
		}
	}
	var out Promotion
	err := d.db.Write(ctx, func(tx *sql.Tx) error {
		s, err := d.find(ctx, tx, id)
		if err != nil {
			return err
		}
		out = Promotion{ID: s.id, Status: s.status, Blockers: []string{}}
		if s.status == status {
			return nil
		}
		if out.Blockers = s.blockers(target); len(out.Blockers) > 0 {
			return nil
		}
		out.Promoted, out.Status = true, status
		if _, err := tx.ExecContext(ctx, "update stories set status = ? where id = ?", status, id); err != nil {
			return fmt.Errorf("promote story %s: %w", id, err)
		}
		return nil
	})
	return out, err
}

// blockers says why a story cannot go to a status; empty means it can.
func (s story) blockers(target int) []string {
	at := slices.Index(Statuses, s.status)
	if target < at {
		return []string{fmt.Sprintf("it is past %s already, at %s", Statuses[target], s.status)}
	}
	if target > at+1 {
		return []string{fmt.Sprintf("it is at %s and %s comes next", s.status, Statuses[at+1])}
	}
	out := []string{}
	if Statuses[target] == "edit" && s.words < s.target {
		out = append(out, fmt.Sprintf("%d of %d words are written", s.words, s.target))
	}
	if target > 0 && Statuses[target] != "draft" && s.editor == "" {
		out = append(out, "it has no editor")
	}
	if Statuses[target] == "published" && s.overdue > 0 {
		out = append(out, fmt.Sprintf("overdue invoices: %d", s.overdue))
	}
	return out
}
