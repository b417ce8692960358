package chaos_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/history"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

const databaseName = "state"

// audit has the database write down each claim and each write of a run, in the transaction
// that makes it and under the lock of the run's row: so the audit and the run have the same
// order. Hosts say who they are by the name of their connections.
const audit = `
CREATE TABLE public.audit (
	n     bigserial PRIMARY KEY,
	at    timestamptz NOT NULL DEFAULT clock_timestamp(),
	kind  text NOT NULL,
	run   text NOT NULL,
	host  text NOT NULL DEFAULT current_setting('application_name'),
	epoch bigint
);

-- While it has a row, runs cannot be written: the error is that of a disk that is full.
CREATE TABLE public.full_disk (one boolean);

CREATE FUNCTION public.note_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		-- What is gone was written as such; what is over, or of no owner, may be swept.
		IF OLD.owner IS NOT NULL AND NOT OLD.gone AND OLD.expires > clock_timestamp() THEN
			INSERT INTO public.audit (kind, run, epoch) VALUES ('written', OLD.id, OLD.epoch);
		END IF;
		RETURN NULL;
	END IF;
	IF EXISTS (SELECT FROM public.full_disk) THEN
		RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
	END IF;
	IF TG_OP = 'INSERT' OR NEW.epoch <> OLD.epoch THEN
		INSERT INTO public.audit (kind, run, epoch) VALUES ('claimed', NEW.id, NEW.epoch);
	ELSIF NEW.seal <> OLD.seal OR NEW.generation <> OLD.generation OR NEW.ended <> OLD.ended THEN
		INSERT INTO public.audit (kind, run, epoch) VALUES ('written', NEW.id, NEW.epoch);
	END IF;
	RETURN NULL;
END $$;

CREATE FUNCTION public.note_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM public.full_disk) THEN
		RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
	END IF;
	INSERT INTO public.audit (kind, run, epoch)
		SELECT 'written', NEW.run, epoch FROM quoin.runs WHERE id = NEW.run;
	RETURN NULL;
END $$;

CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON quoin.runs
	FOR EACH ROW EXECUTE FUNCTION public.note_run();
CREATE TRIGGER note AFTER INSERT ON quoin.journal
	FOR EACH ROW EXECUTE FUNCTION public.note_calls();
`

// database is the server that takes writes, and the one that follows it.
type database struct {
	w       *world
	mu      sync.Mutex
	primary *postgrestest.Server
	standby *postgrestest.Server
	mounted *disk // of the server that was made last; nil: servers have the disk of the machine
	disks   map[*postgrestest.Server]*disk
	locked  *pgx.Conn // its transaction has the tables locked
}

func startDatabase(t *testing.T, w *world) *database {
	t.Helper()
	d := &database{w: w, disks: map[*postgrestest.Server]*disk{}}
	options := postgrestest.Options{Settings: map[string]string{
		"synchronous_standby_names": "*", "wal_retrieve_retry_interval": "200ms", "max_wal_size": "128MB",
	}}
	if ownMounts {
		options.Mount = d.mount
	}
	// No commit is answered before the standby has it: a failover loses nothing that
	// was promised.
	d.primary = postgrestest.Start(t, options)
	d.disks[d.primary] = d.mounted
	var err error
	if d.standby, err = d.primary.Standby("second"); err != nil {
		t.Fatal(err)
	}
	d.disks[d.standby] = d.mounted
	t.Cleanup(func() {
		if err := errors.Join(d.primary.Remove(), d.standby.Remove()); err != nil {
			t.Error(err)
		}
	})
	if err := d.primary.CreateDatabase(databaseName); err != nil {
		t.Fatal(err)
	}
	return d
}

// mount gives a server a disk.
func (d *database) mount(folder string) (func() error, error) {
	made, err := mountDisk(folder, 8<<30)
	d.mounted = made
	return made.unmount, err
}

func (d *database) address() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.primary.Address()
}

func (d *database) url() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.primary.URL(databaseName)
}

// urlFor is how a host reaches the database: by its proxy.
func (d *database) urlFor(m *member) string {
	return d.primary.NetworkURL(m.database.address(), databaseName) + "&application_name=" + m.name
}

// exec runs statements as the operator.
func (d *database) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// claimsAndWrites is what the database has written down.
func (d *database) claimsAndWrites(ctx context.Context) (events []history.Event, at []time.Time, err error) {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT kind, run, host, coalesce(epoch, 0), at FROM public.audit ORDER BY n`)
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		var e history.Event
		var when time.Time
		if err := rows.Scan(&e.Kind, &e.Run, &e.Host, &e.Epoch, &when); err != nil {
			return nil, nil, err
		}
		events, at = append(events, e), append(at, when)
	}
	return events, at, rows.Err()
}

// kept are the results that the database has.
func (d *database) kept(ctx context.Context) (events []history.Event, err error) {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT id FROM quoin.runs WHERE ended AND NOT gone`)
	if err != nil {
		return nil, err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, run := range runs {
		events = append(events, history.Event{Kind: history.Kept, Run: run})
	}
	return events, err
}

// disturbances are what may happen to the database.
func (d *database) disturbances() []fault {
	start := func() error { return d.primary.Start() }
	readOnly := func(value string) func() error {
		return func() error { return d.primary.Set("default_transaction_read_only", value) }
	}
	lock := func() error { return d.lockTables(context.Background()) }
	unlock := func() error { return d.locked.Close(context.Background()) }
	faults := []fault{
		{name: "restart", lasts: moment, most: 6 * time.Second, begin: func() error { return d.primary.Stop(postgrestest.Fast) }, end: start},
		{name: "crash", begin: func() error { return d.primary.Stop(postgrestest.Immediate) }, end: start},
		{name: "failover", begin: d.failOver},
		d.fullDisk(),
		d.fullLog(),
		{name: "read-only", lasts: moment, most: 6 * time.Second, begin: readOnly("on"), end: readOnly("off")},
		{name: "locked tables", lasts: moment, most: 6 * time.Second, begin: lock, end: unlock},
		{name: "clock forward", begin: d.clockForward},
		{name: "clock backward", begin: func() error {
			return d.exec(context.Background(), `UPDATE quoin.hosts SET lease_until = lease_until + interval '10 seconds'`)
		}},
	}
	for i := range faults {
		faults[i].where = "database"
	}
	return faults
}

// clockForward ends all leases at once, while their hosts are at work. It does so again and
// again: each time other hosts take the few runs that a host is about to write.
func (d *database) clockForward() error {
	for range 20 {
		if err := d.exec(context.Background(), `UPDATE quoin.hosts SET lease_until = clock_timestamp() - interval '1 second'`); err != nil {
			return err
		}
		rest(context.Background(), 200*time.Millisecond)
	}
	return nil
}

// lockTables keeps everyone from runs and their calls, as an operator's change does, until
// its connection ends.
func (d *database) lockTables(ctx context.Context) (err error) {
	if d.locked, err = pgx.Connect(ctx, d.url()); err != nil {
		return err
	}
	_, err = d.locked.Exec(ctx, `BEGIN; LOCK TABLE quoin.runs, quoin.journal IN ACCESS EXCLUSIVE MODE`)
	return err
}

// failOver ends the server at once, promotes its standby, and gives the new server a
// standby.
func (d *database) failOver() error {
	old := d.primary
	if err := errors.Join(old.Stop(postgrestest.Immediate), d.standby.Promote()); err != nil {
		return err
	}
	d.mu.Lock()
	d.primary = d.standby
	d.mu.Unlock()
	for _, m := range d.w.members {
		m.database.lead(d.address())
	}
	next, err := d.primary.Standby("second")
	if err != nil {
		return err
	}
	d.standby, d.disks[next] = next, d.mounted
	delete(d.disks, old)
	return old.Remove()
}
