package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is where hosts tell each other where to look.
const channel = "quoin"

// hint tells all hosts, this one too, to look at something of a kind.
func (d *DB) hint(kind, what string) {
	h := &d.hints
	h.sending.Do(func() { d.done.Go(d.sendHints) })
	select {
	case h.send <- kind + ":" + what:
	default:
	}
}

// sendHints sends what waits, as much as there is at once.
func (d *DB) sendHints() {
	for {
		var batch []string
		select {
		case <-d.ctx.Done():
			return
		case first := <-d.hints.send:
			batch = append(batch, first)
		}
		for more := true; more && len(batch) < maxHints; {
			select {
			case next := <-d.hints.send:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.times.release)
		if _, err := d.own.Exec(ctx, `SELECT pg_notify($1, what) FROM (SELECT DISTINCT unnest($2::text[]) AS what) hints`, channel, batch); err != nil {
			d.log.Debug("hints were not sent", "hints", len(batch), "error", err)
		}
		cancel()
	}
}

// watch returns the hints of one kind until ctx ends, when the channel is closed.
func (d *DB) watch(ctx context.Context, kind string) <-chan string {
	h := &d.hints
	out := make(chan string, maxHints)
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = make(map[chan string]string)
	}
	h.watchers[out] = kind
	h.mu.Unlock()
	h.watching.Do(func() { d.done.Go(d.listen) })
	d.done.Go(func() {
		select {
		case <-ctx.Done():
		case <-d.ctx.Done():
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, out)
		close(out)
	})
	return out
}

// deliver hands a hint to those who watch for its kind.
func (h *hints) deliver(payload string) {
	kind, what, ok := strings.Cut(payload, ":")
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for out, wanted := range h.watchers {
		if wanted != kind {
			continue
		}
		select {
		case out <- what:
		default:
		}
	}
}

// listen takes hints until Close, over one connection that is made again when it ends.
func (d *DB) listen() {
	for pause := d.times.listen; d.ctx.Err() == nil; pause = min(2*pause, d.times.maxListen) {
		start := time.Now()
		err := d.listenOnce()
		if d.ctx.Err() != nil {
			return
		}
		d.log.Debug("hints of other hosts are not heard", "error", err)
		if time.Since(start) > d.times.longListen {
			pause = d.times.listen
		}
		select {
		case <-d.ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (d *DB) listenOnce() error {
	ctx, cancel := context.WithTimeout(d.ctx, d.times.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.hints.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.times.closeListen)
		defer cancel()
		_ = conn.Close(ctx) // it is only listened to
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(d.ctx)
		if err != nil {
			return err
		}
		d.hints.deliver(n.Payload)
	}
}
