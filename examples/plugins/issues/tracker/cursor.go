package tracker

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// place is where a page ended: the sort key and the id of its last item.
type place struct {
	Query string `json:"q"`           // which filter the place belongs to
	Title string `json:"t,omitempty"` // key when sorted by title
	Milli int64  `json:"m,omitempty"` // key when sorted by a time
	ID    int64  `json:"i"`
}

// digest names the query: a cursor of another one is refused. The page size
// may change between pages.
func (q query) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{
		q.state, q.assignee, q.sort, q.unassigned, q.desc, q.all, q.any, q.words, q.since,
	}))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func (q query) cursor(last Issue) (string, error) {
	p := place{Query: q.digest(), ID: last.ID}
	switch q.sort {
	case "title":
		p.Title = last.Title
	case "created":
		p.Milli = last.CreatedAt.UnixMilli()
	default:
		p.Milli = last.UpdatedAt.UnixMilli()
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write a cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// place reads a cursor; nil means the first page.
func (q query) place(cursor string) (*place, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, badCursor("is damaged")
	}
	var p place
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, badCursor("is damaged")
	}
	if p.Query != q.digest() {
		return nil, badCursor("belongs to another filter or order")
	}
	return &p, nil
}
