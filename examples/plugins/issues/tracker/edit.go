package tracker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// once runs f in a write transaction, at most one time per key.
func once[T any](ctx context.Context, s *Store, verb string, act Act, f func(tx *sql.Tx) (T, error)) (out T, err error) {
	key := act.Key
	if key != "" {
		key = verb + "/" + key
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		out, err = localdb.Once(ctx, tx, key, func() (T, error) { return f(tx) })
		return err
	})
	return out, err
}

// Create adds an open issue.
func (s *Store) Create(ctx context.Context, act Act, d Draft) (Issue, error) {
	var p problems
	title, body := checkTitle(&p, d.Title), checkBody(&p, d.Body, false)
	assignee, labels := checkAssignee(&p, d.Assignee), checkLabels(&p, "labels", d.Labels)
	if err := p.err(); err != nil {
		return Issue{}, err
	}
	return once(ctx, s, "create", act, func(tx *sql.Tx) (Issue, error) {
		now := s.now().UnixMilli()
		res, err := tx.ExecContext(ctx, `insert into issues
			(title, body, folded, state, close_reason, assignee, author, version, created_at, updated_at)
			values (?, ?, ?, 'open', '', ?, ?, 1, ?, ?)`, title, body, fold(title, body), assignee, act.Author, now, now)
		if err != nil {
			return Issue{}, fmt.Errorf("create an issue: %w", err)
		}
		id, err := res.LastInsertId()
		if err != nil {
			return Issue{}, fmt.Errorf("create an issue: %w", err)
		}
		if err := setLabels(ctx, tx, id, labels); err != nil {
			return Issue{}, err
		}
		return find(ctx, tx, id, nil)
	})
}

// Change is an issue after an edit, and what the edit has changed.
type Change struct {
	Issue
	Before Content `json:"before"`
	After  Content `json:"after"` // the same if nothing has changed
}

// Update edits an issue, provided that it is still at the version the patch
// names; otherwise the error has code conflict and nothing changes.
func (s *Store) Update(ctx context.Context, act Act, id int64, patch Patch) (Change, error) {
	if err := patch.check(); err != nil {
		return Change{}, err
	}
	return once(ctx, s, "update", act, func(tx *sql.Tx) (c Change, err error) {
		var body string
		issue, err := find(ctx, tx, id, &body)
		if err != nil {
			return c, err
		}
		if issue.Version != patch.Version {
			return c, conflict(issue, patch.Version)
		}
		c.Before = Detail{Issue: issue, Body: body}.Content()
		if err := patch.apply(&issue, &body); err != nil {
			return c, err
		}
		if err := s.save(ctx, tx, issue, body); err != nil {
			return c, err
		}
		c.Issue, err = find(ctx, tx, id, &body)
		c.After = Detail{Issue: c.Issue, Body: body}.Content()
		return c, err
	})
}

// check refuses what no issue could accept, and trims what it holds.
func (patch *Patch) check() error {
	var p problems
	if patch.Version < 1 {
		p.add("version", "must be the version you read, 1 or more")
	}
	if patch.Title != nil {
		patch.Title = new(checkTitle(&p, *patch.Title))
	}
	if patch.Body != nil {
		checkBody(&p, *patch.Body, false)
	}
	if patch.Assignee != nil {
		patch.Assignee = new(checkAssignee(&p, *patch.Assignee))
	}
	if patch.Labels != nil {
		patch.Labels = checkLabels(&p, "labels", patch.Labels)
	}
	patch.AddLabels = checkLabels(&p, "addLabels", patch.AddLabels)
	patch.RemoveLabels = checkLabels(&p, "removeLabels", patch.RemoveLabels)
	if patch.Labels != nil && len(patch.AddLabels)+len(patch.RemoveLabels) > 0 {
		p.add("labels", "cannot be combined with addLabels or removeLabels")
	}
	if patch.empty() {
		p.add("patch", "names no field to change")
	}
	if patch.State != nil && *patch.State != Open {
		p.add("state", "can only be set to open; close an issue with close")
	}
	return p.err()
}

func (patch *Patch) empty() bool {
	return patch.Title == nil && patch.Body == nil && patch.Assignee == nil && patch.State == nil &&
		patch.Labels == nil && len(patch.AddLabels)+len(patch.RemoveLabels) == 0
}

// apply changes the issue in memory.
func (patch *Patch) apply(issue *Issue, body *string) error {
	if patch.Title != nil {
		issue.Title = *patch.Title
	}
	if patch.Body != nil {
		*body = *patch.Body
	}
	if patch.Assignee != nil {
		issue.Assignee = *patch.Assignee
	}
	if patch.State != nil {
		issue.State, issue.CloseReason, issue.ClosedAt = Open, "", nil
	}
	if patch.Labels != nil {
		issue.Labels = patch.Labels
	}
	labels := slices.Concat(issue.Labels, patch.AddLabels)
	labels = slices.DeleteFunc(labels, func(l string) bool { return slices.Contains(patch.RemoveLabels, l) })
	var p problems
	issue.Labels = checkLabels(&p, "labels", labels) // the sum may be too many
	return p.err()
}

// save writes the issue back under its next version.
func (s *Store) save(ctx context.Context, tx *sql.Tx, issue Issue, body string) error {
	var closed any
	if issue.ClosedAt != nil {
		closed = issue.ClosedAt.UnixMilli()
	}
	_, err := tx.ExecContext(ctx, `update issues set title = ?, body = ?, folded = ?, state = ?, close_reason = ?,
		assignee = ?, version = version + 1, updated_at = ?, closed_at = ? where id = ?`,
		issue.Title, body, fold(issue.Title, body), issue.State, issue.CloseReason, issue.Assignee, s.now().UnixMilli(), closed, issue.ID)
	if err != nil {
		return fmt.Errorf("save issue %d: %w", issue.ID, err)
	}
	return setLabels(ctx, tx, issue.ID, issue.Labels)
}

func setLabels(ctx context.Context, tx *sql.Tx, id int64, labels []string) error {
	if _, err := tx.ExecContext(ctx, "delete from labels where issue_id = ?", id); err != nil {
		return fmt.Errorf("label issue %d: %w", id, err)
	}
	for _, label := range labels {
		if _, err := tx.ExecContext(ctx, "insert into labels (issue_id, label) values (?, ?)", id, label); err != nil {
			return fmt.Errorf("label issue %d: %w", id, err)
		}
	}
	return nil
}

func fold(title, body string) string { return strings.ToLower(title + "\n" + body) }

// Comment adds a remark to an issue, open or closed.
func (s *Store) Comment(ctx context.Context, act Act, id int64, body string) (Comment, error) {
	var p problems
	checkBody(&p, body, true)
	if err := p.err(); err != nil {
		return Comment{}, err
	}
	return once(ctx, s, "comment", act, func(tx *sql.Tx) (Comment, error) {
		now := s.now()
		c := Comment{IssueID: id, Author: act.Author, Body: body, CreatedAt: moment(now.UnixMilli())}
		if _, err := find(ctx, tx, id, nil); err != nil {
			return c, err
		}
		res, err := tx.ExecContext(ctx, "insert into comments (issue_id, author, body, created_at) values (?, ?, ?, ?)",
			id, c.Author, body, now.UnixMilli())
		if err != nil {
			return c, fmt.Errorf("comment on issue %d: %w", id, err)
		}
		if c.ID, err = res.LastInsertId(); err != nil {
			return c, fmt.Errorf("comment on issue %d: %w", id, err)
		}
		if _, err := tx.ExecContext(ctx, "update issues set updated_at = ? where id = ?", now.UnixMilli(), id); err != nil {
			return c, fmt.Errorf("comment on issue %d: %w", id, err)
		}
		return c, nil
	})
}

// CloseIssue closes an issue for one of [Reasons]; no reason means completed.
// Closing an issue that is already closed for that reason, or for any reason
// when reason is empty, changes nothing and returns it.
func (s *Store) CloseIssue(ctx context.Context, act Act, id int64, reason string) (Change, error) {
	var p problems
	asked := reason
	reason = oneOf(&p, "reason", reason, Reasons...)
	if err := p.err(); err != nil {
		return Change{}, err
	}
	return once(ctx, s, "close", act, func(tx *sql.Tx) (c Change, err error) {
		var body string
		issue, err := find(ctx, tx, id, &body)
		switch {
		case err != nil:
			return c, err
		case issue.State == Closed && asked != "" && asked != issue.CloseReason:
			return c, alreadyClosed(issue, asked)
		case issue.State == Closed:
			return Change{Issue: issue}, nil
		}
		c.Before = Detail{Issue: issue, Body: body}.Content()
		now := s.now().UTC()
		issue.State, issue.CloseReason, issue.ClosedAt = Closed, reason, &now
		if err := s.save(ctx, tx, issue, body); err != nil {
			return c, err
		}
		c.Issue, err = find(ctx, tx, id, &body)
		c.After = Detail{Issue: c.Issue, Body: body}.Content()
		return c, err
	})
}

// Content is what edits of an issue change.
type Content struct {
	Title       string   `json:"title" jsonschema:"one line"`
	Body        string   `json:"body" jsonschema:"description; may be empty"`
	State       string   `json:"state" enum:"open,closed" jsonschema:"open or closed"`
	CloseReason string   `json:"closeReason,omitempty" jsonschema:"completed, not_planned or duplicate; only when closed"`
	Labels      []string `json:"labels" jsonschema:"sorted, lower case"`
	Assignee    string   `json:"assignee" jsonschema:"empty when unassigned"`
}

// Content is what edits have made of the issue.
func (d Detail) Content() Content {
	return Content{d.Title, d.Body, d.State, d.CloseReason, d.Labels, d.Assignee}
}

// Withdraw removes an issue that has that content and no comments; otherwise the error
// has code conflict and nothing changes.
func (s *Store) Withdraw(ctx context.Context, act Act, id int64, as Content) (Issue, error) {
	return once(ctx, s, "withdraw", act, func(tx *sql.Tx) (Issue, error) {
		now, err := s.stillAs(ctx, tx, id, as)
		switch {
		case err != nil:
			return now.Issue, err
		case now.Comments > 0:
			return now.Issue, commented(now.Issue)
		}
		if _, err := tx.ExecContext(ctx, "delete from issues where id = ?", id); err != nil {
			return now.Issue, fmt.Errorf("withdraw issue %d: %w", id, err)
		}
		return now.Issue, nil
	})
}

// Restore gives an issue a content back, as long as it has the other one; otherwise the
// error has code conflict and nothing changes. It compares contents and not versions,
// since undoing a later edit makes a new version.
func (s *Store) Restore(ctx context.Context, act Act, id int64, from, to Content) (Issue, error) {
	var p problems
	to.Title, to.Body = checkTitle(&p, to.Title), checkBody(&p, to.Body, false)
	to.Assignee, to.Labels = checkAssignee(&p, to.Assignee), checkLabels(&p, "labels", to.Labels)
	if to.State == Closed {
		to.CloseReason = oneOf(&p, "closeReason", to.CloseReason, Reasons...)
	}
	if err := p.err(); err != nil {
		return Issue{}, err
	}
	return once(ctx, s, "restore", act, func(tx *sql.Tx) (Issue, error) {
		now, err := s.stillAs(ctx, tx, id, from)
		if err != nil {
			return now.Issue, err
		}
		issue := now.Issue
		issue.Title, issue.Assignee, issue.Labels = to.Title, to.Assignee, to.Labels
		if issue.State, issue.CloseReason, issue.ClosedAt = Open, "", nil; to.State == Closed {
			issue.State, issue.CloseReason, issue.ClosedAt = Closed, to.CloseReason, new(s.now().UTC())
		}
		if err := s.save(ctx, tx, issue, to.Body); err != nil {
			return issue, err
		}
		return find(ctx, tx, id, nil)
	})
}

// stillAs returns an issue that has that content.
func (s *Store) stillAs(ctx context.Context, tx *sql.Tx, id int64, as Content) (now Detail, err error) {
	if now.Issue, err = find(ctx, tx, id, &now.Body); err != nil {
		return now, err
	}
	if c := now.Content(); c.Title != as.Title || c.Body != as.Body || c.State != as.State || c.CloseReason != as.CloseReason || c.Assignee != as.Assignee || !slices.Equal(c.Labels, as.Labels) {
		return now, changedSince(now.Issue)
	}
	return now, nil
}

// Uncomment removes a comment.
func (s *Store) Uncomment(ctx context.Context, act Act, id, comment int64) (Issue, error) {
	return once(ctx, s, "uncomment", act, func(tx *sql.Tx) (Issue, error) {
		if issue, err := find(ctx, tx, id, nil); err != nil {
			return issue, err
		}
		res, err := tx.ExecContext(ctx, "delete from comments where id = ? and issue_id = ?", comment, id)
		if err != nil {
			return Issue{}, fmt.Errorf("remove comment %d of issue %d: %w", comment, id, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return Issue{}, errors.Join(err, noComment(id, comment))
		}
		return find(ctx, tx, id, nil)
	})
}
