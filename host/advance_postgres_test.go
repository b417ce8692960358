package host_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// newCluster makes a database and returns what opens it for one more host.
func newCluster(t *testing.T) (open func() *postgres.DB) {
	t.Helper()
	url := postgrestest.Database(t)
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	secret := sha256.Sum256([]byte("the key of the hosts"))
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	return func() *postgres.DB {
		t.Helper()
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
}

// TestPostgresAdvance: two hosts share a database. The first has closed; the second continues
// its timers, and any host has the result.
func TestPostgresAdvance(t *testing.T) {
	t.Parallel()
	open := newCluster(t)
	tools := []catalog.Tool{echo("echo")}
	first := start(t, host.Config{Store: open(), Tools: tools})
	id := execBriefly(t, first, codemode.ReasonTimer, `
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

// TestPostgresACutOffCallGoesOnElsewhere: a host closes while a call of a suspended run is in
// flight. Another host resumes the run at once, although no caller waits and the first host's
// database is still open. A host that lacks the tools leaves the run to the next.
func TestPostgresACutOffCallGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for _, lacking := range []bool{false, true} {
		t.Run(fmt.Sprintf("lacking=%v", lacking), func(t *testing.T) {
			open, g := newCluster(t), newGate()
			tools := []catalog.Tool{g.tool("slow")}
			first := start(t, host.Config{Store: open(), Tools: tools, DrainTimeout: 1})
			id := execBriefly(t, first, codemode.ReasonPendingTools, `try { return await tools.slow() } catch (e) { return e.effectStatus }`)
			<-g.entered
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if lacking {
				log, refused := logOf("could not go on without a caller")
				advancing(t, host.Config{Store: open(), Logger: log})
				<-refused
			}
			next, told := advancing(t, host.Config{Store: open(), Tools: tools})
			told.until(t, id, trajectory.RunEnded)
			wantValue(t, next.Wait(t.Context(), me, id), `"unknown"`)
		})
	}
}

// TestPostgresDecisionsWithoutAHost: the host of a run has closed while a person was asked.
// The run resumes in another host once a process without a host has decided, or the time for
// the decision is over.
func TestPostgresDecisionsWithoutAHost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		decide  policy.Decision
		want    string
	}{
		{"allowed", time.Hour, policy.AllowOnce, `{"n":1}`},
		{"expired", time.Second, "", `["The call of \"echo\" was denied: no one approved it in time.","denied","none","quoin:core:echo"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			open, desk := newCluster(t), newDesk()
			config := func() host.Config {
				cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Timeout: tc.timeout}, "echo"))
				db := open()
				cfg.Store, cfg.Approvals.Store = db, db.Approvals()
				return cfg
			}
			first := start(t, config())
			id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused}), codemode.ReasonApproval)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second, told := advancing(t, config())
			if tc.decide != "" {
				if _, err := policy.Decide(t.Context(), open().Approvals(), (<-desk.asked).ID, tc.decide, "bob", time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			told.until(t, id, trajectory.RunEnded)
			wantValue(t, second.Wait(t.Context(), me, id), tc.want)
		})
	}
}

// TestPostgresUpgradeLeavesRunsDue: the host of a run has closed while a call was in flight, and
// its build of the guest is gone. The run is upgraded, or left for that build, before another
// host starts. That host resumes it although no caller waits.
func TestPostgresUpgradeLeavesRunsDue(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprintf("left=%v", left), func(t *testing.T) {
			open, g, old := newCluster(t), newGate(), anotherGuest(t)
			tools := []catalog.Tool{g.tool("slow")}
			first := start(t, host.Config{Store: open(), Tools: tools, DrainTimeout: 1, Guests: host.GuestConfig{Path: old}})
			id := execBriefly(t, first, codemode.ReasonPendingTools, `try { return await tools.slow() } catch (e) { return e.effectStatus }`)
			<-g.entered
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if left {
				forgetReplay(t, open(), id)
			}
			operator := start(t, host.Config{Store: open()})
			done, err := upgrade(t.Context(), operator, codemode.UpgradeOptions{})
			if err != nil || len(done) != 1 || (done[0].Err != nil) != left {
				t.Fatalf("upgraded %+v, %v", done, err)
			}
			cfg := host.Config{Store: open(), Tools: tools}
			if left {
				cfg.Guests.Builds = buildsWith(t, old)
			}
			next, told := advancing(t, cfg)
			told.until(t, id, trajectory.RunEnded)
			wantValue(t, next.Wait(t.Context(), me, id), `"unknown"`)
		})
	}
}

// forgetReplay takes the log from a run that no host has, which is due after it.
func forgetReplay(t *testing.T, db *postgres.DB, id string) {
	t.Helper()
	claim, err := db.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	rec, err := db.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec.NoReplay = "it has got too much"
	rec.Generation++
	if err := errors.Join(claim.Checkpoint(t.Context(), rec), db.Wake(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
}

// TestPostgresAMovedRunGoesOn: a person has decided about a call of a run in a state directory
// before the run is moved into a database. A host there resumes the run although no caller
// waits.
func TestPostgresAMovedRunGoesOn(t *testing.T) {
	t.Parallel()
	dir, open, desk := mkdir(t), newCluster(t), newDesk()
	cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo"))
	from := openState(t, dir)
	cfg.Store, cfg.Approvals.Store = from, from.Approvals()
	first := start(t, cfg)
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused}), codemode.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Decide(t.Context(), from.Approvals(), (<-desk.asked).ID, policy.AllowOnce, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := statecopy.Move(t.Context(), from.Copied(), open().Copied()); err != nil {
		t.Fatal(err)
	}
	db := open()
	cfg.Store, cfg.Approvals.Store = db, db.Approvals()
	next, told := advancing(t, cfg)
	told.until(t, id, trajectory.RunEnded)
	wantValue(t, next.Wait(t.Context(), me, id), `{"n":1}`)
}
