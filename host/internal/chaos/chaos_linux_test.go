package chaos_test

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/history"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
	"github.com/quoinhq/quoin/sdk"
)

var (
	chaosTime  = flag.Duration("chaostime", 0, "how long things break at random; 0 for each kind of fault once, in order")
	chaosCalm  = flag.Duration("chaoscalm", 8*time.Second, "the longest time between two random faults of a host; the database has twice that")
	chaosUsers = flag.Int("chaosusers", 12, "how many clients there are")
	chaosSeed  = flag.Uint64("chaosseed", 0, "what clients do, and what breaks when at random; 0 takes one from the clock")
	chaosOnly  = flag.String("chaosonly", "", "regular expression of the faults that happen, such as '^host.: clock'; empty for all")
	chaosKeep  = flag.String("chaoskeep", "", "folder to keep the history and the logs of the hosts in")
)

// TestMain makes the test binary the plugin.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == ledgerName {
		sdk.Serve(ledgerPlugin())
		return
	}
	os.Exit(withOwnMounts(m))
}

const (
	clusterSize = 3
	// healing is how long the cluster has, once everything is healed, to end every run.
	healing = 90 * time.Second
)

// world is the cluster, its clients, and what was seen of them.
type world struct {
	rec     *history.Recorder
	only    *regexp.Regexp // the faults that happen
	seed    uint64
	members []*member
	tally   tally
	faults  faultLog
}

func newWorld(t *testing.T, replace map[string]string) (*world, string) {
	t.Helper()
	only, err := regexp.Compile(*chaosOnly)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(*chaosKeep, "qchaos")
	if err != nil {
		t.Fatal(err)
	}
	if *chaosKeep == "" {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
	events, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := events.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		rec:    history.NewRecorder(events),
		only:   only,
		seed:   cmp.Or(*chaosSeed, uint64(time.Now().UnixNano())),
		tally:  tally{refused: map[string]int{}, none: map[string]int{}},
		faults: faultLog{counts: map[string]int{}},
	}
	t.Logf("seed %d", w.seed)
	l := &ledger{rec: w.rec, highest: map[string]uint64{}}
	l.serve(t, filepath.Join(dir, "ledger"))
	binary := buildHost(t, dir, replace)
	for i := range clusterSize {
		name := fmt.Sprint("host", i+1)
		w.members = append(w.members, &member{name: name, dir: filepath.Join(dir, name), binary: binary})
	}
	return w, dir
}

// configuration is what every host has, but for its state.
func configuration(dir string, m *member) map[string]any {
	return map[string]any{
		"tools": map[string]any{"codeMode": map[string]any{
			"enabled": true, "isolation": "best-effort", "maxSuspendedRuns": 10_000, "waitMs": 1000,
		}},
		"plugins": map[string]any{
			"dir":    filepath.Join(m.dir, "plugins"),
			"config": map[string]any{ledgerName: ledgerConfig{Socket: filepath.Join(dir, "ledger"), Host: m.name}},
		},
		"quotas": map[string]any{"sessionPercent": 100},
	}
}

// start starts the hosts with these configurations.
func (w *world) start(t *testing.T, dir string, amend func(m *member, config map[string]any)) {
	t.Helper()
	for _, m := range w.members {
		config := configuration(dir, m)
		amend(m, config)
		if err := m.install(config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.kill)
		if err := m.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// rng is a sequence of random numbers that the seed tells.
func (w *world) rng(n int) *rand.Rand { return rand.New(rand.NewPCG(w.seed, uint64(n))) }

// user is a client of these hosts.
func (w *world) user(name string, n int, hosts ...*member) *user {
	return &user{w: w, session: host.Session{SessionID: name}, rng: w.rng(n), hosts: hosts}
}

// run has clients at work while things break, and until every run has ended after that.
func (w *world) run(t *testing.T, breakThings func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all []*user
	var working sync.WaitGroup
	for i := range *chaosUsers {
		u := w.user(fmt.Sprint("user", i), i, w.members...)
		all = append(all, u)
		working.Go(func() { u.work(ctx) })
	}
	breakThings()
	cancel()
	working.Wait()
	healed, cancel := context.WithTimeout(t.Context(), healing)
	defer cancel()
	start := time.Now()
	for _, u := range all {
		working.Go(func() { u.finish(healed) })
	}
	working.Wait()
	t.Logf("healed; every run was asked for within %s", time.Since(start).Round(time.Millisecond))
	for _, err := range w.faults.errs {
		t.Error(err)
	}
}

// judge fails the test for each promise that was broken.
func (w *world) judge(t *testing.T, more []history.Event) {
	t.Helper()
	events, err := w.rec.Events()
	if err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Effected && e.Epoch > 0 }) {
		t.Error("no effect has an epoch: nothing shows that the plugin could refuse an older one")
	}
	events = append(events, more...)
	violations := history.Check(events)
	for i, v := range violations {
		if i == 20 {
			t.Errorf("and %d more", len(violations)-i)
			break
		}
		t.Error(v)
	}
	t.Log(history.Summary(events))
	t.Log(w.tally.String())
	if t.Failed() {
		for _, s := range w.faults.spans {
			t.Log(s)
		}
		for _, m := range w.members {
			t.Logf("%s: %s", m.name, m.lastWords())
		}
	}
}

// TestChaosOnDirectory breaks hosts that share a directory on one machine.
func TestChaosOnDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks hosts one after the other; make test-all runs it")
	}
	w, dir := newWorld(t, nil)
	w.start(t, dir, func(_ *member, config map[string]any) {
		config["state"] = map[string]any{"dir": filepath.Join(dir, "state")}
	})
	w.run(t, func() { w.breakThings(t, nil) })
	w.judge(t, nil)
}

// TestPostgresChaos breaks everything there is, of hosts that share a database.
func TestPostgresChaos(t *testing.T) {
	w, d := startCluster(t, withClocks(t, map[string]string{}))
	w.run(t, func() { w.breakThings(t, d.disturbances()) })
	w.judge(t, w.ofDatabase(t, d))
}

// TestPostgresChaosFindsThatFencingIsOff has hosts write runs that others own, and
// ends all leases again and again. Then the same history must not look sound.
func TestPostgresChaosFindsThatFencingIsOff(t *testing.T) {
	w, d := startCluster(t, withoutFencing(t))
	w.run(t, func() {
		if err := d.clockForward(); err != nil {
			t.Error(err)
		}
	})
	found := map[history.Rule]int{}
	for _, v := range history.Check(w.ofDatabase(t, d)) {
		found[v.Rule]++
	}
	t.Logf("found: %v", found)
	if found[history.Fencing] == 0 {
		t.Errorf("no write of a claim that is not the newest was found; got %v", found)
	}
}

// fenced is the condition on which hosts write a run, and unfenced what hosts do who do
// not look.
const (
	fenced   = "epoch = $2 AND owner = $3"
	unfenced = "$2::bigint IS NOT NULL AND $3::text IS NOT NULL"
)

// withoutFencing is what go build takes for the source in which that condition is.
func withoutFencing(t *testing.T) map[string]string {
	t.Helper()
	path, err := filepath.Abs("../../postgres/claim.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), fenced); n < 4 {
		t.Fatalf("%s has the condition %q %d times; plant the bug where runs are written now", path, fenced, n)
	}
	return map[string]string{path: strings.ReplaceAll(string(source), fenced, unfenced)}
}

// startCluster starts a database and hosts that share it.
func startCluster(t *testing.T, replace map[string]string) (*world, *database) {
	t.Helper()
	postgrestest.Need(t)
	w, dir := newWorld(t, replace)
	if !ownMounts {
		t.Log("no right to mount: the disks of hosts are never full, and that of the database pretends to be; hosts share the network of this machine")
	} else {
		w.connect(t)
	}
	d := startDatabase(t, w)
	key, secret := filepath.Join(dir, "key"), filepath.Join(dir, "secret")
	if _, err := runstore.CreateKey(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte(cryptorand.Text()+cryptorand.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := postgres.Migrate(t.Context(), d.url()); err != nil {
		t.Fatal(err)
	}
	if err := d.exec(t.Context(), audit); err != nil {
		t.Fatal(err)
	}
	w.start(t, dir, func(m *member, config map[string]any) {
		listen := m.clusterAddress(t)
		m.database, m.peers = newProxy(t, m.there(), d.address()), newProxy(t, m.there(), listen)
		url := filepath.Join(dir, m.name+".url")
		if err := os.WriteFile(url, []byte(d.urlFor(m)), 0o600); err != nil {
			t.Fatal(err)
		}
		m.mountState(t)
		config["state"] = map[string]any{"dir": m.state(), "url": "file:" + url, "keyFile": key}
		config["cluster"] = map[string]any{"listen": listen, "advertise": m.peers.address(), "secret": "file:" + secret}
	})
	return w, d
}

// ofDatabase is what the database has seen, and has in the end, for the judge.
func (w *world) ofDatabase(t *testing.T, d *database) []history.Event {
	t.Helper()
	events, at, err := d.claimsAndWrites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.logTakeovers(t, events, at)
	kept, err := d.kept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append(events, kept...)
}

// logTakeovers says how long after a host had taken a run over the client had an answer
// that was waiting for it: of all such waits, and of those that nothing else disturbed.
func (w *world) logTakeovers(t *testing.T, events []history.Event, at []time.Time) {
	t.Helper()
	type takeover struct {
		host string
		at   time.Time
	}
	owner, takeovers := map[string]string{}, map[string][]takeover{}
	count := 0
	for i, e := range events {
		if e.Kind != history.Claimed {
			continue
		}
		if was := owner[e.Run]; was != "" && was != e.Host {
			takeovers[e.Run] = append(takeovers[e.Run], takeover{e.Host, at[i]})
			count++
		}
		owner[e.Run] = e.Host
	}
	var after, undisturbed []time.Duration
	for _, a := range w.tally.waits {
		for _, taken := range takeovers[a.run] {
			if !taken.at.After(a.start) || !taken.at.Before(a.end) {
				continue
			}
			took := a.end.Sub(taken.at)
			after = append(after, took)
			if w.faults.disturbed(taken.at, a.end, "database", a.host, taken.host) {
				continue
			}
			if undisturbed = append(undisturbed, took); took > 2*time.Second {
				t.Logf("slow: %s was taken by %s at %s; a wait at %s from %s on was answered after %s",
					a.run, taken.host, taken.at.UTC().Format(timeOfDay), a.host, a.start.UTC().Format(timeOfDay), took.Round(time.Millisecond))
			}
		}
	}
	t.Logf("%d claims by another host than the one before; %d waits were answered after one: %s", count, len(after), quantiles(after))
	t.Logf("%d of them while the database and both hosts were whole: %s", len(undisturbed), quantiles(undisturbed))
}

const timeOfDay = "15:04:05.000"

// freeAddress is where nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
