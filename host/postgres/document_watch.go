package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

const hintDocument = "document"

// changed tells those who watch documents with an extension, on this host and on others.
func (s *documentStore) changed(ext string) {
	s.watchers.Tell(ext)
	if ext == s.told {
		s.hints.tell(hintDocument, s.purpose+"/"+ext)
	}
}

// Watch implements documents.Store.
func (s *documentStore) Watch(ctx context.Context, ext string) <-chan struct{} {
	c := s.watchers.Add(ctx, ext)
	s.mu.Lock()
	if _, known := s.polled[ext]; !known {
		s.polled[ext] = ""
	}
	s.mu.Unlock()
	s.watching.Do(func() {
		hints := s.hints.watch(s.db.ctx, hintDocument)
		s.db.done.Go(func() { s.listen(hints) })
	})
	return c
}

// listen passes on hints, and what hints have missed, until the database is closed.
func (s *documentStore) listen(hints <-chan string) {
	tick := time.NewTicker(s.db.times.poll)
	defer tick.Stop()
	for {
		select {
		case hint, ok := <-hints:
			if !ok {
				return
			}
			if ext, of := strings.CutPrefix(hint, s.purpose+"/"); of {
				s.watchers.Tell(ext)
			}
		case <-tick.C:
			s.poll()
		}
	}
}

// poll tells of documents that were written since the last poll. Writers that had not
// committed by then are looked for again.
func (s *documentStore) poll() {
	s.mu.Lock()
	polled := maps.Clone(s.polled)
	s.mu.Unlock()
	for _, ext := range slices.Sorted(maps.Keys(polled)) {
		ctx, cancel := context.WithTimeout(s.db.ctx, s.db.times.statement)
		since := polled[ext]
		if since == "" {
			since = "0"
		}
		var written bool
		var next string
		err := s.db.pool.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM quoin.documents WHERE purpose = $1 AND ext = $2 AND written >= $3::text::xid8)
				OR pg_snapshot_xmin(pg_current_snapshot()) < $3::text::xid8, -- the database was restored
				pg_snapshot_xmin(pg_current_snapshot())::text`, s.purpose, ext, since).Scan(&written, &next)
		cancel()
		if err != nil {
			s.db.log.Debug("changes of documents were not looked for", "documents", s.purpose, "error", err)
			continue
		}
		s.mu.Lock()
		s.polled[ext] = next
		s.mu.Unlock()
		if written {
			s.watchers.Tell(ext)
		}
	}
}
