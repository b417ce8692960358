package mcpserver_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// sharedState is where hosts keep their runs and tasks: a directory, or the URL of a
// database.
type sharedState string

// newDatabase returns a database for hosts.
func newDatabase(t *testing.T) sharedState {
	t.Helper()
	url := postgrestest.Database(t)
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return sharedState(url)
}

// open returns what a host of the state is made with.
func (s sharedState) open() (cfg host.Config, o mcpserver.Options, closeStore func() error, err error) {
	cfg.Logger, o.Logger = quiet, quiet
	if strings.HasPrefix(string(s), "postgres") {
		closeStore, err = s.openDatabase(&cfg, &o)
		return cfg, o, closeStore, err
	}
	db, err := sqlite.Open(context.Background(), string(s), sqlite.Options{Logger: quiet})
	if err != nil {
		return cfg, o, nil, err
	}
	cfg.Store, cfg.Approvals.Store = db, db.Approvals()
	docs, noTasks := db.Tasks()
	o.Tasks = mcpserver.NewTasks(docs)
	o.Cipher, err = db.Cipher("MCP request state")
	return cfg, o, db.Close, errors.Join(err, noTasks)
}

func (s sharedState) openDatabase(cfg *host.Config, o *mcpserver.Options) (closeStore func() error, err error) {
	secret := sha256.Sum256([]byte("the key of the hosts"))
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(context.Background(), string(s), postgres.Options{Key: key, Logger: quiet})
	if err != nil {
		return nil, err
	}
	cfg.Store, cfg.Approvals.Store, cfg.Programs.Store = db, db.Approvals(), db.Programs()
	cfg.Cluster = host.ClusterConfig{Listen: "127.0.0.1:0", Secret: func() (string, error) { return "a secret of thirty-two bytes, it is", nil }}
	docs, err := db.Tasks()
	if err == nil {
		o.Tasks = mcpserver.NewTasks(docs)
		o.Cipher, err = db.Cipher("MCP request state")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db.Close, nil
}

// taskHost is a host with clients of two sessions.
type taskHost struct {
	host         *host.Host
	mine, theirs *tasker
}

// startTaskHost starts a host of the state, which is closed when the test ends.
func startTaskHost(t *testing.T, s sharedState, tools ...catalog.Tool) *taskHost {
	t.Helper()
	cfg, o, closeStore, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeStore(); err != nil {
			t.Error(err)
		}
	})
	cfg.Tools = tools
	h := newHost(t, cfg)
	m := newServer(t, h, o)
	return &taskHost{h, newTasker(t, overHTTP(t, m, me).URL), newTasker(t, overHTTP(t, m, host.Session{SessionID: "other"}).URL)}
}

func TestTasksOfAnotherHost(t *testing.T) {
	t.Parallel()
	testTasksOfAnotherHost(t, sharedState(t.TempDir()))
}

// TestPostgresTasksOfAnotherHost: the run of a task that is cancelled is aborted at the
// host that has it, too.
func TestPostgresTasksOfAnotherHost(t *testing.T) {
	t.Parallel()
	one, other := testTasksOfAnotherHost(t, newDatabase(t))
	for _, h := range []*host.Host{one.host, other.host} {
		if runs, err := h.Runs().List(t.Context(), me); err != nil || len(runs) > 0 {
			t.Errorf("left: %v, %v", runs, err)
		}
	}
}

// testTasksOfAnotherHost: a task is got, answered, finished and cancelled at a host that
// has not made it, by its session alone.
func testTasksOfAnotherHost(t *testing.T, s sharedState) (one, other *taskHost) {
	t.Helper()
	one, other = startTaskHost(t, s, inquirer(1, form)), startTaskHost(t, s, inquirer(1, form))
	id := one.mine.task(`text("one"); await yield_control(); text("two"); const got = await tools.order({}); text("three"); return got`)
	asked := slices.Sorted(maps.Keys(one.mine.await(id, "input_required").Result["inputRequests"].(map[string]any)))
	elsewhere := slices.Sorted(maps.Keys(other.mine.await(id, "input_required").Result["inputRequests"].(map[string]any)))
	if len(asked) != 1 || !slices.Equal(asked, elsewhere) {
		t.Fatalf("asked %v, and %v at the other host", asked, elsewhere)
	}
	refused := func(c *tasker, id string) {
		t.Helper()
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if a := c.request(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}}); a.Error.Code != -32602 {
				t.Errorf("%s of %q: %+v", method, id, a)
			}
		}
	}
	refused(other.theirs, id)
	for _, bad := range []string{"", "nothing", "../tasks/" + id, id + ".task", id + ".driver", strings.Repeat("long", 1000)} {
		refused(other.mine, bad)
	}
	small := map[string]any{"action": "accept", "content": map[string]any{"size": "S"}}
	other.mine.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{asked[0]: small}})
	done := mustJSON(t, other.mine.await(id, "completed").Result["result"])
	if kept := mustJSON(t, one.mine.await(id, "completed").Result["result"]); kept != done || !strings.Contains(done, `"output":["one","two","three"]`) {
		t.Errorf("%s, and %s at the first host", done, kept)
	}
	one.mine.ack("tasks/cancel", map[string]any{"taskId": id})
	other.mine.await(id, "completed") // it has ended before

	id = one.mine.task(`await yield_control(); return await tools.order({})`)
	one.mine.await(id, "input_required")
	refused(other.theirs, id)
	other.mine.ack("tasks/cancel", map[string]any{"taskId": id})
	one.mine.await(id, "cancelled")
	other.mine.await(id, "cancelled")
	return one, other
}

// TestATaskThatIsCancelledElsewhereIsNotDrivenOn: a server that cannot reach the run of a
// task that it cancels leaves that to the one that drives it.
func TestATaskThatIsCancelledElsewhereIsNotDrivenOn(t *testing.T) {
	t.Parallel()
	s := sharedState(t.TempDir())
	called, goOn := make(chan struct{}, 1), make(chan struct{})
	tool := slow(func() json.RawMessage {
		select {
		case called <- struct{}{}:
		default: // not the first call
		}
		<-goOn
		return json.RawMessage(`1`)
	})
	one, other := startTaskHost(t, s, tool), startTaskHost(t, s, tool)
	id := one.mine.task(`await yield_control(); for (;;) { await tools.slow(); await yield_control() }`)
	if got := one.mine.request("tasks/get", map[string]any{"taskId": id}).text("status"); got != "working" {
		t.Fatalf("the task is %s", got)
	}
	<-called // the first server drives the run
	other.mine.ack("tasks/cancel", map[string]any{"taskId": id})
	close(goOn)
	for {
		runs, err := one.host.Runs().List(t.Context(), me)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 0 {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// taskHostKey makes the test binary a host of the state that it names, and taskHostGuest
// is its guest.
const (
	taskHostKey   = "QUOIN_TEST_TASK_HOST"
	taskHostGuest = "QUOIN_TEST_TASK_GUEST"
)

// slow is an idempotent tool.
func slow(invoke func() json.RawMessage) catalog.Tool {
	return catalog.Tool{Name: "slow", Description: "Takes long.", Idempotent: true, Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return invoke(), nil
	}}
}

// serveTasks is the whole life of that host: it prints its address, and a line when its
// tool is called, which does not return.
func serveTasks(s sharedState) error {
	cfg, o, _, err := s.open()
	if err != nil {
		return err
	}
	cfg.Guests.Path = os.Getenv(taskHostGuest)
	cfg.Tools = []catalog.Tool{slow(func() json.RawMessage { fmt.Println("called"); select {} })}
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		return err
	}
	m, err := mcpserver.New(h, o)
	if err != nil {
		return err
	}
	fmt.Println(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.Handle(w, r, me) })).URL)
	select {}
}

func TestTasksOutliveTheirHost(t *testing.T) {
	t.Parallel()
	testTasksOutliveTheirHost(t, sharedState(t.TempDir()))
}

func TestPostgresTasksOutliveTheirHost(t *testing.T) {
	t.Parallel()
	testTasksOutliveTheirHost(t, newDatabase(t))
}

// testTasksOutliveTheirHost: the host that made a task and drives it is killed, and
// another one finishes it.
func testTasksOutliveTheirHost(t *testing.T, s sharedState) {
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	doomed := exec.Command(exe)
	doomed.Env = append(os.Environ(), taskHostKey+"="+string(s), taskHostGuest+"="+guest)
	doomed.Stderr = os.Stderr
	out, err := doomed.StdoutPipe()
	if err == nil {
		err = doomed.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill := func() {
		if err := doomed.Process.Kill(); err == nil {
			_ = doomed.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	next := func() string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the host has ended: %v", lines.Err())
		}
		return lines.Text()
	}
	id := newTasker(t, next()).task(`text("one"); await yield_control(); text("two"); const got = await tools.slow(); text("three"); return got`)
	// A call of a program that has been suspended is stored before it is made.
	if said := next(); said != "called" {
		t.Fatalf("the host said %q", said)
	}
	kill()
	other := startTaskHost(t, s, slow(func() json.RawMessage { return json.RawMessage(`"through"`) }))
	done := mustJSON(t, other.mine.await(id, "completed").Result["result"])
	if !strings.Contains(done, `"output":["one","two","three"]`) || !strings.Contains(done, `"value":"through"`) {
		t.Errorf("got %s", done)
	}
}
