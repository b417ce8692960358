package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// fullDisk has a database answer as on a full disk where a write needs a page, while there is
// a row in public.full. The lease of a host needs none.
const fullDisk = `
CREATE TABLE public.full (one boolean);
CREATE FUNCTION public.no_room() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM public.full) THEN
		RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
	END IF;
END $$;
CREATE FUNCTION public.no_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.no_room(); RETURN NEW; END $$;
CREATE FUNCTION public.no_table() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.no_room(); END $$;
CREATE TRIGGER no_row BEFORE INSERT ON quoin.runs FOR EACH ROW EXECUTE FUNCTION public.no_row();
CREATE EVENT TRIGGER no_table ON ddl_command_start EXECUTE FUNCTION public.no_table();
`

// TestPostgresFullDisk: one write that finds no room makes the store read-only, although the
// lease holds, until a write of a fresh page works.
func TestPostgresFullDisk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := open(t, database(t), postgres.Options{Lease: 900 * time.Millisecond})
	must(t, d.Exec(ctx, fullDisk))
	must(t, d.Exec(ctx, `INSERT INTO public.full VALUES (true)`))
	if _, err := d.Create(ctx, record("run"), 0); !errors.Is(err, runstore.ErrUnavailable) {
		t.Fatalf("a run on a full disk: %v, want ErrUnavailable", err)
	}
	for range 2 {
		postgres.LookForRoom(ctx, d)
		if got := d.Health(ctx).State; got != runstore.HealthReadOnly {
			t.Fatalf("a full disk is %s, want %s", got, runstore.HealthReadOnly)
		}
	}
	must(t, d.Exec(ctx, `DELETE FROM public.full`))
	postgres.LookForRoom(ctx, d)
	if got := d.Health(ctx).State; got == runstore.HealthReadOnly {
		t.Fatalf("a disk with room is %s", got)
	}
	create(t, d, record("run")).Release()
}
