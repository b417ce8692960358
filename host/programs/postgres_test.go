package programs_test

import (
	"crypto/sha256"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestProgramsOnPostgres runs the tests of stores on a database that two hosts share.
func TestProgramsOnPostgres(t *testing.T) {
	postgrestest.Need(t)
	was := each
	t.Cleanup(func() { each = was })
	each = func(t *testing.T, test func(*testing.T, programs.Store)) {
		one, _ := onPostgres(t)
		test(t, one)
	}
	for name, test := range map[string]func(*testing.T){
		"KeptPrograms": TestKeptPrograms, "OldProgramsMakeRoom": TestOldProgramsMakeRoom,
		"SaveRefuses": TestSaveRefuses, "OneNameOnce": TestOneNameOnce,
	} {
		t.Run(name, test)
	}
	t.Run("AreShared", func(t *testing.T) {
		one, other := onPostgres(t)
		areShared(t, one, other)
	})
}

// onPostgres returns the programs of two hosts on one new database.
func onPostgres(t *testing.T) (one, other *programs.Stored) {
	t.Helper()
	url, secret := postgrestest.Database(t), sha256.Sum256([]byte("the key"))
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	open := func() *programs.Stored {
		d, err := postgres.Open(t.Context(), url, postgres.Options{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d.Programs()
	}
	return open(), open()
}
