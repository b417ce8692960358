package tracker

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// List returns one page of the issues that match the filter.
func (s *Store) List(ctx context.Context, f Filter) (Page, error) {
	q, err := f.check()
	if err != nil {
		return Page{}, err
	}
	from, err := q.place(f.Cursor)
	if err != nil {
		return Page{}, err
	}
	page := Page{Items: []Issue{}}
	err = s.db.Read(ctx, func(tx *sql.Tx) error { return q.run(ctx, tx, from, &page) })
	return page, err
}

func (q query) run(ctx context.Context, tx *sql.Tx, from *place, page *Page) error {
	where := q.where()
	if err := tx.QueryRowContext(ctx, "select count(*) from issues i where "+where.text(), where.args...).Scan(&page.Total); err != nil {
		return fmt.Errorf("count issues: %w", err)
	}
	q.after(&where, from)
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("select %s from issues i where %s order by %s limit %d",
		columns, where.text(), q.order(), q.limit+1), where.args...) // one more tells whether a page follows
	if err != nil {
		return fmt.Errorf("list issues: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		issue, err := scan(rows)
		if err != nil {
			return fmt.Errorf("list issues: %w", err)
		}
		page.Items = append(page.Items, issue)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list issues: %w", err)
	}
	if len(page.Items) > q.limit {
		page.Items = page.Items[:q.limit]
		page.NextCursor, err = q.cursor(page.Items[q.limit-1])
	}
	return err
}

// conditions are joined with "and". Values travel as parameters, never as text.
type conditions struct {
	texts []string
	args  []any
}

func (c *conditions) add(text string, args ...any) {
	c.texts = append(c.texts, text)
	c.args = append(c.args, args...)
}

func (c *conditions) text() string {
	if len(c.texts) == 0 {
		return "true"
	}
	return strings.Join(c.texts, " and ")
}

func (q query) where() conditions {
	var c conditions
	if q.state != "all" {
		c.add("i.state = ?", q.state)
	}
	for _, label := range q.all {
		c.add("exists (select 1 from labels l where l.issue_id = i.id and l.label = ?)", label)
	}
	if len(q.any) > 0 {
		args := make([]any, len(q.any))
		for n, label := range q.any {
			args[n] = label
		}
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(q.any)), ", ")
		c.add("exists (select 1 from labels l where l.issue_id = i.id and l.label in ("+marks+"))", args...)
	}
	if q.assignee != "" {
		c.add("i.assignee = ?", q.assignee)
	}
	if q.unassigned {
		c.add("i.assignee = ''")
	}
	for _, word := range q.words {
		c.add("instr(i.folded, ?) > 0", word)
	}
	if !q.since.IsZero() {
		c.add("i.updated_at >= ?", q.since.UnixMilli())
	}
	return c
}

// keys names the column of each order.
var keys = map[string]string{
	"updated": "i.updated_at",
	"created": "i.created_at",
	"title":   "i.title collate nocase",
}

func (q query) order() string {
	direction := " asc"
	if q.desc {
		direction = " desc"
	}
	return keys[q.sort] + direction + ", i.id" + direction
}

// after keeps only what lies behind the place; the id decides between equals.
func (q query) after(c *conditions, from *place) {
	if from == nil {
		return
	}
	key, value, than := keys[q.sort], any(from.Milli), ">"
	if q.sort == "title" {
		value = from.Title
	}
	if q.desc {
		than = "<"
	}
	c.add(fmt.Sprintf("(%[1]s %[2]s ? or (%[1]s = ? and i.id %[2]s ?))", key, than), value, value, from.ID)
}
