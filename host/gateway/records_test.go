package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/statetest"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	c.get("/v1/runs").wants(200, "runs", "[]")
	id := c.exec(`await yield_control(); return 1`).text("runId")
	var list gateway.RunList
	if err := json.Unmarshal(c.get("/v1/runs").wants(200).body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Runs) != 1 || list.Runs[0].ID != id || list.Runs[0].Status != codemode.RunWaiting || list.Runs[0].Reason != codemode.ReasonYield || len(list.Runs[0].PendingToolCalls) != 1 {
		t.Errorf("%+v", list)
	}
	other := me
	other.SessionID = "other"
	c.as(other).get("/v1/runs").wants(200, "runs", "[]")
	c.as(other).get("/v1/runs/"+id).wants(404, "code", `"not_found"`)
	c.as(other).delete("/v1/runs/"+id).wants(404, "code", `"not_found"`)
	c.get("/v1/runs/"+id).wants(200, "runId", `"`+id+`"`)
	c.wait(id).wants(200, "value", "1")
	c.get("/v1/runs").wants(200, "runs", "[]")
}

func TestTrajectory(t *testing.T) {
	t.Parallel()
	dir, err := statetest.Open(t, t.TempDir()).Trajectory(trajectory.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	g := newGate()
	close(g.open)
	h := newHost(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: dir}, Tools: []catalog.Tool{g.tool("quick")}})
	c := serve(t, h, gateway.Options{Trajectory: dir}, nil)
	id := c.post("/v1/exec", `{"code": "await yield_control(); return tools.quick({})", "toolCallId": "call_1"}`).text("runId")
	c.post("/v1/wait", `{"runId": "`+id+`", "toolCallId": "call_2"}`).wants(200, "value", `"through"`)
	var got gateway.Trajectory
	if err := json.Unmarshal(c.get("/v1/trajectory/"+id).wants(200, "runId", `"`+id+`"`).body, &got); err != nil {
		t.Fatal(err)
	}
	var kinds []trajectory.Kind
	for _, e := range got.Events {
		kinds = append(kinds, e.Kind)
		if e.Kind == trajectory.CallEnded && (e.ParentCallID != "call_1" || e.ToolID != "quoin:core:quick") {
			t.Errorf("%+v", e)
		}
		if e.Kind == trajectory.RunResumed && e.CallID != "call_2" {
			t.Errorf("%+v", e)
		}
	}
	if kinds[0] != trajectory.RunStarted || kinds[len(kinds)-1] != trajectory.RunEnded || !slices.Contains(kinds, trajectory.CallEnded) {
		t.Errorf("%v", kinds)
	}
	var list gateway.TrajectoryList
	if err := json.Unmarshal(c.get("/v1/trajectory").wants(200).body, &list); err != nil || len(list.Runs) != 1 || list.Runs[0].Calls != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	other := me
	other.SessionID = "other"
	c.as(other).get("/v1/trajectory").wants(200, "runs", "[]")
	c.as(other).get("/v1/trajectory/"+id).problem(404, gateway.ProblemNotFound)
	for _, run := range []string{"run_0", "..%2Fx", "%00"} {
		if a := c.get("/v1/trajectory/" + run); a.status != 404 && a.status != 500 {
			t.Errorf("%s: %d", run, a.status)
		}
	}
	none := serve(t, h, gateway.Options{}, nil)
	none.get("/v1/trajectory").wants(200, "runs", "[]")
	none.get("/v1/trajectory/"+id).problem(404, gateway.ProblemNotFound)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{Token: secret}, nil)
	c.exec(`return 1`).wants(200)
	a := c.get("/metrics").wants(200)
	for _, name := range []string{"quoin_build_info", "go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(string(a.body), "\n"+name) {
			t.Errorf("there is no %s in\n%s", name, a.body)
		}
	}
	c.token = ""
	c.get("/metrics").problem(401, gateway.ProblemUnauthorized)
}

// reader reads one event stream.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

// stream opens a stream and returns once it is open.
func (c *caller) stream(ctx context.Context, t *testing.T, query string) *reader {
	t.Helper()
	resp, err := c.client.Do(c.request(ctx, http.MethodGet, "/v1/events"+query, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	r := &reader{t, bufio.NewScanner(resp.Body)}
	r.lines.Buffer(nil, 1<<20)
	if !r.lines.Scan() || !strings.HasPrefix(r.lines.Text(), ":") {
		t.Fatalf("it begins with %q", r.lines.Text())
	}
	return r
}

// next returns the next event, or false at the end of the stream.
func (r *reader) next() (e trajectory.Event, more bool) {
	r.t.Helper()
	for r.lines.Scan() {
		data, ok := strings.CutPrefix(r.lines.Text(), "data: ")
		if !ok {
			continue
		}
		d, err := loaded()
		if err != nil {
			r.t.Fatal(err)
		}
		if err := d.valid(json.RawMessage(`{"$ref": "#/components/schemas/Event"}`), []byte(data)); err != nil {
			r.t.Errorf("%v\n%s", err, data)
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			r.t.Fatal(err)
		}
		return e, true
	}
	return e, false
}

func TestEvents(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{Quotas: host.Quotas{SessionPercent: 100}}), gateway.Options{MaxStreams: 4}, nil)
	other := host.Session{SessionID: "other"}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	mine, all := c.stream(ctx, t, ""), c.as(host.Session{}).stream(ctx, t, "")
	turn := c.as(host.Session{TurnID: "turn"}).stream(ctx, t, "")
	id := c.as(other).exec(`await yield_control()`).text("runId")
	one := c.as(other).stream(ctx, t, "?run="+id)
	c.as(other).get("/v1/events").problem(503, gateway.ProblemBusy)
	c.exec(`return 1`).wants(200)
	c.as(other).wait(id).wants(200)

	for range 2 {
		if e, _ := mine.next(); e.Session.SessionID != "session" {
			t.Errorf("mine: %+v", e)
		}
	}
	var seen []string
	for range 6 {
		e, _ := all.next()
		seen = append(seen, e.Session.SessionID+" "+string(e.Kind))
	}
	want := []string{"other run_started", "other run_suspended", "session run_started", "session run_ended", "other run_resumed", "other run_ended"}
	if !slices.Equal(seen, want) {
		t.Errorf("all: %v, want %v", seen, want)
	}
	for _, kind := range []trajectory.Kind{trajectory.RunResumed, trajectory.RunEnded} {
		if e, _ := one.next(); e.Kind != kind || e.RunID != id {
			t.Errorf("one: %+v, want %s", e, kind)
		}
	}
	c.as(host.Session{TurnID: "turn"}).exec(`return 1`).wants(200)
	if e, _ := turn.next(); e.Session.SessionID != "" {
		t.Errorf("a turn alone: %+v", e)
	}
	c.get("/v1/events?runs=1").problem(400, gateway.ProblemInvalidRequest)
	r := c.request(context.Background(), http.MethodHead, "/v1/events", "")
	end()
	for {
		resp, err := c.client.Do(r) // once a place is free
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == 200 {
			break
		}
	}
}

// TestOutputIsStreamedOnDemand, to the session of the program that makes it and to no other.
func TestOutputIsStreamedOnDemand(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	asked, plain, all := c.stream(t.Context(), t, "?output=true"), c.stream(t.Context(), t, ""), c.as(host.Session{}).stream(t.Context(), t, "?output=true")
	c.exec(`text("hello"); json({n: 1}); return 2`).wants(200)
	for _, want := range []string{"run_started ", `output {"type":"text","text":"hello"}`, `output {"type":"json","value":{"n":1}}`, "run_ended "} {
		if e, _ := asked.next(); string(e.Kind)+" "+string(e.Output) != want || (e.Kind == trajectory.OutputMade) != (e.Seq == 0) {
			t.Errorf("got %s %s with the number %d, want %s", e.Kind, e.Output, e.Seq, want)
		}
	}
	for _, s := range []*reader{plain, all} {
		for _, want := range []trajectory.Kind{trajectory.RunStarted, trajectory.RunEnded} {
			if e, _ := s.next(); e.Kind != want {
				t.Errorf("who has not asked, or is another, gets %s, want %s", e.Kind, want)
			}
		}
	}
}

// narrow makes connections with buffers that are soon full.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c, c.(*net.TCPConn).SetWriteBuffer(4096)
}

// TestAStreamWithoutEventsIsKeptAlive: a client hears that it is open.
func TestAStreamWithoutEventsIsKeptAlive(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}.KeepAlive(10*time.Millisecond), nil)
	events := c.stream(t.Context(), t, "")
	for range 3 {
		if !events.lines.Scan() {
			t.Fatal("the stream ended")
		}
		for events.lines.Text() == "" && events.lines.Scan() {
		}
		if got := events.lines.Text(); got != ": alive" {
			t.Errorf("the client hears %q", got)
		}
	}
}

// TestAStreamNobodyReadsIsCut opens a stream and never reads it; that the server
// hangs up is what ends the test.
func TestAStreamNobodyReadsIsCut(t *testing.T) {
	t.Parallel()
	log := make(lines, 1000)
	h := newHost(t, host.Config{})
	// Answers have the same time, which a busy machine must not use up.
	c := serve(t, h, gateway.Options{WriteTimeout: time.Second, MaxStreams: 1, Logger: debugLogger(log)}, narrow{listen(t)})
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		log.await("an event stream ended")
	}()
	for {
		select {
		case <-cut:
			c.exec(`return 1`).wants(200, "value", "1") // nothing else has suffered
			return
		default:
			c.exec(`return 1`).wants(200)
		}
	}
}

// TestShutdown parks a cell that waits for a tool: its client gets a waiting result, and
// another server resumes it.
func TestShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGate()
	h := newHost(t, host.Config{Store: statetest.Open(t, dir), Settings: host.Settings{Timeout: time.Minute}, DrainTimeout: time.Millisecond, Tools: []catalog.Tool{idempotent(g.tool("slow"))}})
	s, err := gateway.New(h, gateway.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	c := serveOn(t, s, nil, "")
	events := c.stream(context.Background(), t, "")
	first := make(chan *answer, 1)
	go func() { first <- c.exec(`return await tools.slow({})`) }()
	<-g.entered
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	id := (<-first).wants(200, "status", `"waiting"`, "reason", `"pending_tools"`).text("runId")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var last trajectory.Event
	for e, more := events.next(); more; e, more = events.next() {
		last = e
	}
	if last.Kind != trajectory.RunSuspended && last.Kind != trajectory.CallEnded {
		t.Errorf("the stream ended with %+v", last)
	}
	if resp, err := http.Get(c.base + "/healthz"); err == nil {
		t.Errorf("after Shutdown: %s", errorsJoinClose(resp))
	}

	g2 := newGate()
	close(g2.open)
	again := serve(t, newHost(t, host.Config{Store: statetest.Open(t, dir), Tools: []catalog.Tool{idempotent(g2.tool("slow"))}}), gateway.Options{}, nil)
	again.wait(id).wants(200, "value", `"through"`)
}

// TestShutdownIsBounded cuts off what does not end.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	s, err := gateway.New(h, gateway.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	c := serveOn(t, s, nil, "")
	first := make(chan *answer, 1)
	go func() {
		resp, err := c.client.Do(c.request(context.Background(), http.MethodPost, "/v1/exec", `{"code": "return await tools.slow({})"}`))
		if err == nil {
			resp.Body.Close()
		}
		first <- nil
	}()
	<-g.entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-first
	<-g.ended // the gate is closed
}

// TestProgressIsStreamed: what a tool says of how far it is reaches those who watch
// while it runs, and its result is not told any of it.
func TestProgressIsStreamed(t *testing.T) {
	t.Parallel()
	tool := catalog.Tool{Name: "steps", Description: "Counts.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		for i := range 4 {
			c.Progress(json.RawMessage(fmt.Sprintf(`{"done": %d, "total": 4}`, i+1)))
		}
		return json.RawMessage(`"counted"`), nil
	}}
	c := serve(t, newHost(t, host.Config{Tools: []catalog.Tool{tool}}), gateway.Options{}, nil)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	events := c.stream(ctx, t, "")
	c.exec(`return await tools.steps({})`).wants(200, "value", `"counted"`, "output", `[]`)
	var got []float64
	for {
		e, more := events.next()
		if !more {
			t.Fatal("the stream ended")
		}
		if e.Kind == trajectory.CallProgress {
			got = append(got, e.Progress)
		}
		if e.Kind == trajectory.RunEnded {
			break
		}
	}
	if !slices.Equal(got, []float64{0.25, 0.5, 0.75, 1}) {
		t.Errorf("progress: %v", got)
	}
}

// meetingStore lets hosts of this process find each other.
type meetingStore struct {
	sharedStore
	host      string
	addresses *sync.Map
}

func (m *meetingStore) Host() string { return m.host }

func (m *meetingStore) Advertise(_ context.Context, address string) error {
	m.addresses.Store(m.host, address)
	return nil
}

func (m *meetingStore) Peers(context.Context, int) (out []runstore.Peer, _ error) {
	m.addresses.Range(func(host, address any) bool {
		out = append(out, runstore.Peer{Host: host.(string), Address: address.(string)})
		return true
	})
	return out, nil
}

// TestEventsOfOtherHosts: a client of one host sees what happens in runs of another.
func TestEventsOfOtherHosts(t *testing.T) {
	t.Parallel()
	var addresses sync.Map
	of := func(name string) *host.Host {
		secret := func() (string, error) { return strings.Repeat("s", 32), nil }
		return newHost(t, host.Config{Store: &meetingStore{host: name, addresses: &addresses}, Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: secret}})
	}
	driving, asked := serve(t, of("driving"), gateway.Options{}, nil), serve(t, of("asked"), gateway.Options{}, nil)
	events := asked.stream(t.Context(), t, "")
	driving.exec(`return 1`).wants(200)
	for _, kind := range []trajectory.Kind{trajectory.RunStarted, trajectory.RunEnded} {
		if e, more := events.next(); !more || e.Kind != kind {
			t.Errorf("got %+v, want %s", e, kind)
		}
	}
}

// monitoredStore is a store with a health that the test sets.
type monitoredStore struct {
	runstore.Memory
	state atomic.Pointer[runstore.HealthState]
}

func (m *monitoredStore) Health(context.Context) runstore.Health {
	return runstore.Health{State: *m.state.Load(), RoundTrip: 3 * time.Millisecond}
}

// sharedStore has one other host, which lives and does not answer.
type sharedStore struct {
	runstore.Memory
	renewals atomic.Int64
}

func (*sharedStore) Host() string                            { return "own" }
func (*sharedStore) Advertise(context.Context, string) error { return nil }
func (*sharedStore) Owner(context.Context, string) (runstore.Owner, error) {
	return runstore.Owner{}, runstore.ErrNotFound
}

func (s *sharedStore) Peers(context.Context, int) ([]runstore.Peer, error) {
	return []runstore.Peer{{Host: "other", Address: "127.0.0.1:1", Until: time.Unix(s.renewals.Add(1), 0)}}, nil
}

// faultWarned is closed by the first warning about the cluster.
type faultWarned struct {
	once sync.Once
	told chan struct{}
}

func (f *faultWarned) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("hosts of the cluster")) {
		f.once.Do(func() { close(f.told) })
	}
	return len(p), nil
}

// TestHealthTellsOfTheCluster: a host that cannot be asked is named, without its address.
func TestHealthTellsOfTheCluster(t *testing.T) {
	t.Parallel()
	w := &faultWarned{told: make(chan struct{})}
	secret := func() (string, error) { return strings.Repeat("s", 32), nil }
	c := serve(t, newHost(t, host.Config{
		Store: &sharedStore{}, Logger: slog.New(slog.NewTextHandler(w, nil)), Cluster: host.ClusterConfig{Secret: secret},
	}), gateway.Options{}, nil)
	c.get("/readyz").wants(200, "cluster", "")
	<-w.told
	for _, path := range []string{"/readyz", "/healthz"} {
		c.get(path).wants(200, "cluster", `[{"host":"other","kind":"unreachable"}]`)
	}
}

// TestReadiness: a server is healthy and not ready while its store is away.
func TestReadiness(t *testing.T) {
	t.Parallel()
	store := &monitoredStore{}
	c := serve(t, newHost(t, host.Config{Store: store}), gateway.Options{}, nil)
	for state, status := range map[runstore.HealthState]int{runstore.HealthOK: 200, runstore.HealthSlow: 200, runstore.HealthReadOnly: 503, runstore.HealthGone: 503} {
		store.state.Store(&state)
		c.get("/healthz").wants(200, "store", fmt.Sprintf(`{"state":%q,"roundTripMs":3}`, state))
		if status == 200 {
			c.get("/readyz").wants(200, "status", `"ok"`)
		} else {
			c.get("/readyz").problem(503, gateway.ProblemStore)
		}
	}
}
