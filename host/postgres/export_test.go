package postgres

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Trips counts what a host sends over its connections for statements.
type Trips struct{ n atomic.Int64 }

// Take returns the number since the last call.
func (c *Trips) Take() int { return int(c.n.Swap(0)) }

// TraceQueryStart implements pgx.QueryTracer.
func (c *Trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *Trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TracePrepareStart implements pgx.PrepareTracer.
func (c *Trips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TracePrepareEnd implements pgx.PrepareTracer.
func (c *Trips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// Counting returns o with a counter of what the host sends.
func Counting(o Options) (Options, *Trips) {
	c := &Trips{}
	o.tracer = c
	return o, c
}

// Exec makes a statement as an operator would.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := d.pool.Exec(ctx, sql, args...)
	return err
}
