//go:build linux

package node

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// stranger is a gateway with a key of its own that talks to the node of a fixture.
func stranger(t *testing.T, f *fixture) *Node {
	t.Helper()
	key, err := mutualtls.New()
	if err != nil {
		t.Fatal(err)
	}
	id, err := f.home.identity()
	if err != nil {
		t.Fatal(err)
	}
	n, err := connect(enrolmentFile{Enrolment{Name: "stranger", Address: f.address, Fingerprint: id.Fingerprint().String()}, string(key)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestAStrangerCanDoNothing tries every method with a key that is not enrolled: while the
// node has no invitation, and while it has one.
func TestAStrangerCanDoNothing(t *testing.T) {
	f, _ := enrolled(t, launch.New(), nil)
	for _, invited := range []bool{false, true} {
		if invited {
			if _, err := f.home.Invite(time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		n := stranger(t, f)
		_, described := n.Describe(t.Context())
		_, judged := n.Judge(t.Context(), Job{Line: "echo"})
		_, started := n.Start(t.Context(), Job{Line: "echo"}, nil, false)
		_, redeemed := n.client.Enrol(t.Context(), &nodepb.EnrolRequest{Secret: make([]byte, secretBytes), Gateway: "stranger"})
		for what, err := range map[string]error{"Describe": described, "Judge": judged, "Start": started} {
			if !errors.Is(err, ErrUnreachable) {
				t.Errorf("%s with an invitation open (%v): %v", what, invited, err)
			}
		}
		if redeemed == nil {
			t.Errorf("Enrol without a token, with an invitation open (%v): no error", invited)
		}
	}
	if list, err := f.home.Gateways(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestAStrangerDoesNotStay: 64 strangers that an invitation has let in would leave no room
// for gateways, for as long as they like.
func TestAStrangerDoesNotStay(t *testing.T) {
	home := OpenHome(filepath.Join(t.TempDir(), "node"))
	for _, known := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			key, err := mutualtls.New()
			if err != nil {
				t.Fatal(err)
			}
			other, err := mutualtls.Parse(key)
			if err != nil {
				t.Fatal(err)
			}
			id, err := home.identity()
			if err != nil {
				t.Fatal(err)
			}
			if known {
				f := other.Fingerprint().String()
				if err := home.gateways.create(f, Gateway{Fingerprint: f}); err != nil {
					t.Fatal(err)
				}
			}
			all := func(mutualtls.Fingerprint) error { return nil }
			ours, theirs := net.Pipe()
			defer theirs.Close()
			config := other.TLS(all)
			config.NextProtos = []string{"h2"}
			shaken := make(chan error, 1)
			go func() { shaken <- tls.Client(theirs, config).Handshake() }()
			conn, _, err := visits{credentials.NewTLS(id.TLS(all)), home}.ServerHandshake(ours)
			if err := errors.Join(err, <-shaken); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if stays := ours.SetDeadline(time.Time{}) == nil; stays != known {
				t.Errorf("known %v: it stays %v", known, stays)
			}
			_ = conn.Close()
		})
	}
}

// TestPeersAreKnownByTheirKeys replaces the node, and then asks in plain text.
func TestPeersAreKnownByTheirKeys(t *testing.T) {
	f, n := enrolled(t, launch.New(), nil)
	other, _ := enrolled(t, launch.New(), nil)
	moved := n.enrolment
	moved.Address = other.address
	m, err := connect(moved)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Describe(t.Context()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), mutualtls.ErrStranger.Error()) {
		t.Errorf("another node in the place of the one enrolled: %v", err)
	}
	// A token of the one node is of no use at the other, which never sees its secret.
	token, err := f.home.Invite(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.nodes.Add(t.Context(), "other", other.address, token, "g"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("the token of another node: %v", err)
	}
	for name, config := range map[string]*tls.Config{
		"without a certificate": {InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}},
		"with TLS 1.2":          {InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}},
	} {
		c, err := tls.Dial("tcp", f.address, config)
		if err == nil {
			_, err = c.Read(make([]byte, 1)) // with TLS 1.3 the refusal comes after the handshake
			c.Close()
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestATokenCountsOnce has many gateways redeem one token at a time, and one come late.
func TestATokenCountsOnce(t *testing.T) {
	f := serveNode(t, launch.New(), nil)
	token, err := f.home.Invite(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = f.nodes.Add(t.Context(), "n"+string(rune('0'+i)), f.address, token, "g")
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		if err == nil {
			added++
		}
	}
	if list, err := f.home.Gateways(); added != 1 || len(list) != 1 || err != nil {
		t.Errorf("%d were added; the node has %d, %v: %v", added, len(list), err, errs)
	}
	if token, err = f.home.Invite(time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	if _, err := f.nodes.Add(t.Context(), "late", f.address, token, "g"); err == nil {
		t.Error("a token that has expired counts")
	}
}

// TestReplayedBytesStartNothing records what an enrolled gateway sends, and sends it again.
func TestReplayedBytesStartNothing(t *testing.T) {
	f, n := enrolled(t, launch.New(), full)
	mark := filepath.Join(t.TempDir(), "mark")
	p := startProxy(t, f.address)
	through := n.enrolment
	through.Address = p.address
	m, err := connect(through)
	if err != nil {
		t.Fatal(err)
	}
	run(t, m, Job{Line: "echo ran >> " + mark})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(p.recorded()); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Log(err) // the node may have hung up already
	}
	_, _ = io.Copy(io.Discard, c) // until the node has hung up
	if data, err := os.ReadFile(mark); err != nil || string(data) != "ran\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// run runs a job to its end and returns its output.
func run(t *testing.T, n *Node, j Job) string {
	t.Helper()
	p, err := n.Start(t.Context(), j, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v: %s", exit, err, out)
	}
	return string(out)
}

// TestAnEnrolledGatewayIsHeldToTheLimits sends what no gateway of ours sends.
func TestAnEnrolledGatewayIsHeldToTheLimits(t *testing.T) {
	_, n := enrolled(t, launch.New(), nil)
	many := map[string]string{}
	for i := range maxVariables + 1 {
		many["V"+string(rune('a'+i%26))+strings.Repeat("x", i/26)] = ""
	}
	for name, job := range map[string]*nodepb.Job{
		"nothing":             nil,
		"no line":             {},
		"a long line":         {Line: strings.Repeat("a", settings.MaxCommandBytes+1)},
		"a huge line":         {Line: strings.Repeat("a", maxRequestBytes+1)},
		"a relative dir":      {Line: "echo", Dir: "work"},
		"a dir with a NUL":    {Line: "echo", Dir: "/\x00"},
		"no such dir":         {Line: "echo", Dir: "/no/such/directory"},
		"a file as dir":       {Line: "echo", Dir: "/proc/self/status"},
		"many variables":      {Line: "echo", Env: many},
		"much environment":    {Line: "echo", Env: map[string]string{"V": strings.Repeat("x", maxEnvBytes)}},
		"a variable with =":   {Line: "echo", Env: map[string]string{"A=B": ""}},
		"a variable with NUL": {Line: "echo", Env: map[string]string{"A": "\x00"}},
		"a loader's variable": {Line: "echo", Env: map[string]string{"LD_PRELOAD": "/tmp/x.so"}},
		"another PATH":        {Line: "echo", Env: map[string]string{"PATH": "/tmp"}},
		"a large allow-list":  {Line: "echo", AllowList: &nodepb.AllowList{Allow: make([]string, maxRules+1)}},
		"a broken allow-list": {Line: "echo", AllowList: &nodepb.AllowList{Rules: []*nodepb.Rule{{Command: []string{"ls"}, Match: []string{"rm x"}}}}},
		"a NUL":               {Line: "echo \x00"},
		"a newline's cousin":  {Line: "echo \r id"},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := n.client.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			start := &nodepb.Input{Of: &nodepb.Input_Start{Start: &nodepb.StartRequest{Job: job}}}
			if err := stream.Send(start); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			out, err := stream.Recv()
			if err == nil {
				t.Fatalf("it runs: %v", out)
			}
			if code := status.Code(err); code == codes.Unavailable || code == codes.DeadlineExceeded {
				t.Errorf("%v", err)
			}
		})
	}
	if out := run(t, n, Job{Line: "echo still here"}); out != "still here\n" {
		t.Errorf("%q", out)
	}
}

// TestAGatewayThatBreaksTheRulesLosesItsProcess sends inputs out of turn.
func TestAGatewayThatBreaksTheRulesLosesItsProcess(t *testing.T) {
	_, n := enrolled(t, launch.New(), full)
	write := &nodepb.Input{Of: &nodepb.Input_Write{Write: []byte("x")}}
	for name, inputs := range map[string][]*nodepb.Input{
		"not start":        {write},
		"nothing":          {{}},
		"start twice":      {startOf("sleep 600"), startOf("sleep 600")},
		"an empty input":   {startOf("sleep 600"), {}},
		"an empty write":   {startOf("sleep 600"), {Of: &nodepb.Input_Write{}}},
		"a large write":    {startOf("sleep 600"), {Of: &nodepb.Input_Write{Write: make([]byte, maxWriteBytes+1)}}},
		"a flood":          append([]*nodepb.Input{startOf("sleep 600")}, flood()...),
		"a huge terminal":  {startOf("sleep 600"), {Of: &nodepb.Input_Resize{Resize: &nodepb.Size{Columns: 1 << 20, Rows: 1}}}},
		"no such terminal": {{Of: &nodepb.Input_Start{Start: &nodepb.StartRequest{Job: &nodepb.Job{Line: "sleep 600"}, Terminal: &nodepb.Size{}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := n.client.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range inputs {
				if err := stream.Send(in); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			for {
				out, err := stream.Recv()
				if err != nil {
					break // it has ended, one way or the other
				}
				if e := out.GetExit(); e != nil && e.GetSignal() != "SIGKILL" {
					t.Errorf("%v", e)
				}
			}
		})
	}
}

func startOf(line string) *nodepb.Input {
	return &nodepb.Input{Of: &nodepb.Input_Start{Start: &nodepb.StartRequest{Job: &nodepb.Job{Line: line}}}}
}

// flood is more than a process that does not read can take.
func flood() (all []*nodepb.Input) {
	for range 100 {
		all = append(all, &nodepb.Input{Of: &nodepb.Input_Write{Write: make([]byte, maxWriteBytes)}})
	}
	return all
}

// badNode is a node that answers what it likes.
type badNode struct {
	nodepb.UnimplementedNodeServer
	outputs []*nodepb.Output
}

func (b *badNode) Start(stream nodepb.Node_StartServer) error {
	for _, o := range b.outputs {
		if err := stream.Send(o); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

// TestANodeThatBreaksTheRulesIsLost lets a node answer out of turn. The gateway neither
// waits for it nor believes it.
func TestANodeThatBreaksTheRulesIsLost(t *testing.T) {
	started := &nodepb.Output{Of: &nodepb.Output_Started{Started: &nodepb.Started{Pid: 1}}}
	data := &nodepb.Output{Of: &nodepb.Output_Data{Data: []byte("x")}}
	end := &nodepb.Output{Of: &nodepb.Output_EndOfOutput{}}
	written := &nodepb.Output{Of: &nodepb.Output_Written{}}
	for name, outputs := range map[string][]*nodepb.Output{
		"data first":             {data},
		"nothing in it":          {{}},
		"started twice":          {started, started},
		"data after the end":     {started, end, data},
		"two ends":               {started, end, end},
		"answers without writes": {started, written, written},
		"more than a message":    {started, {Of: &nodepb.Output_Data{Data: make([]byte, maxReplyBytes+1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := serveBadNode(t, &badNode{outputs: outputs})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p, err := n.Start(ctx, Job{Line: "echo"}, nil, false)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, p); err != nil && errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if exit, err := p.Wait(); err == nil {
				t.Errorf("%+v", exit)
			}
		})
	}
}

// TestAVerdictThatIsNotUnderstoodIsTheStrictest reads policies of a later version.
func TestAVerdictThatIsNotUnderstoodIsTheStrictest(t *testing.T) {
	v := verdictOf(&nodepb.JudgeReply{Allowed: true, Security: "lenient", Ask: "sometimes"})
	if !v.Refused || v.Security != settings.Deny || v.Ask != settings.AskAlways || v.Outcome() != Refused {
		t.Errorf("%+v", v)
	}
}
