package postgres

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is where hosts tell each other where to look.
const channel = "quoin"

// hints are notifications. They are sent by one writer, outside of any transaction that
// writes a run: NOTIFY takes a lock of the whole database when it commits.
type hints struct {
	*conn
	send     chan string
	sending  sync.Once
	watching sync.Once

	mu       sync.Mutex
	watchers map[chan string]string // what each looks for
}

// maxHints bounds the hints that wait to be sent, or to be taken by one watcher. Others
// are dropped: the truth is looked up once a second.
const maxHints = 1024

// tell tells all hosts, this one too, to look at something of a kind.
func (h *hints) tell(kind, what string) {
	h.sending.Do(func() { h.done.Go(h.sendHints) })
	select {
	case h.send <- kind + ":" + what:
	default:
	}
}

// sendHints sends what waits, as much as there is at once.
func (h *hints) sendHints() {
	for {
		var batch []string
		select {
		case <-h.ctx.Done():
			return
		case first := <-h.send:
			batch = append(batch, first)
		}
		for more := true; more && len(batch) < maxHints; {
			select {
			case next := <-h.send:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		ctx, cancel := context.WithTimeout(h.ctx, h.times.release)
		if _, err := h.own.Exec(ctx, `SELECT pg_notify($1, what) FROM (SELECT DISTINCT unnest($2::text[]) AS what) hints`, channel, batch); err != nil {
			h.log.Debug("hints were not sent", "hints", len(batch), "error", err)
		}
		cancel()
	}
}

// watch returns the hints of one kind until ctx ends, when the channel is closed.
func (h *hints) watch(ctx context.Context, kind string) <-chan string {
	out := make(chan string, maxHints)
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = make(map[chan string]string)
	}
	h.watchers[out] = kind
	h.mu.Unlock()
	h.watching.Do(func() { h.done.Go(h.listen) })
	h.done.Go(func() {
		select {
		case <-ctx.Done():
		case <-h.ctx.Done():
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
func (h *hints) listen() {
	for pause := h.times.listen; h.ctx.Err() == nil; pause = min(2*pause, h.times.maxListen) {
		start := time.Now()
		err := h.listenOnce()
		if h.ctx.Err() != nil {
			return
		}
		h.log.Debug("hints of other hosts are not heard", "error", err)
		if time.Since(start) > h.times.longListen {
			pause = h.times.listen
		}
		select {
		case <-h.ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (h *hints) listenOnce() error {
	ctx, cancel := context.WithTimeout(h.ctx, h.times.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, h.own.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.times.closeListen)
		defer cancel()
		_ = conn.Close(ctx) // it is only listened to
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return err
		}
		h.deliver(n.Payload)
	}
}
