package host_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresAdvance: of two hosts that share a database the second goes on with the timers of
// the first, which has closed, and any host has the result.
func TestPostgresAdvance(t *testing.T) {
	url := postgrestest.Database(t)
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	secret := sha256.Sum256([]byte("the key of the hosts"))
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	open := func() *postgres.DB {
		db, err := postgres.Open(t.Context(), url, postgres.Options{Key: key, Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
	tools := []catalog.Tool{echo("echo")}
	first := start(t, host.Config{Store: open(), Tools: tools})
	id := execBriefly(t, first, host.ReasonTimer, `
		for (let i = 0; i < 3; i++) { await new Promise(r => setTimeout(r, 20)); text(String((await tools.echo({i})).i)) }
		return 1`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, told := advancing(t, host.Config{Store: open(), Tools: tools})
	told.until(t, id, trajectory.RunEnded)
	r := start(t, host.Config{Store: open(), Tools: tools}).Wait(t.Context(), me, id)
	wantValue(t, r, "1")
	wantTexts(t, r, "0", "1", "2")
}
