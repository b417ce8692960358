package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// serveExample serves a host, and returns a client of it and a function that ends both.
func serveExample() (*client.Client, func()) {
	base, end := serveGateway()
	c, err := client.New(base, client.Options{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		end()
	}
}

// serveGateway serves a host with one tool, and returns its address and a function that
// ends it. In production the server is quoin serve, or a gateway.Server of your own.
func serveGateway() (base string, end func()) {
	guest, err := hosttest.Guest()
	if err != nil {
		log.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	town := catalog.Func(catalog.Tool{Name: "town_of", Description: "Tells where a user lives."},
		func(context.Context, struct{ User string }) (string, error) { return "Bern", nil })
	h, err := host.New(ctx, host.Config{Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{town}, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	s, err := gateway.New(h, gateway.Options{Token: token, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return "http://" + l.Addr().String(), func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-ended, h.Close()); err != nil {
			log.Fatal(err)
		}
	}
}

// Run a program on a server. A program that fails is a result, not an error.
func ExampleClient_Exec() {
	c, end := serveExample()
	defer end()
	r, err := c.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return 6 * 7`})
	if err != nil {
		log.Fatal(err) // the server was not reached, or refused the request
	}
	fmt.Println(r.Status, string(r.Value))
	// Output: completed 42
}

// Exec returns at the end of a run. The feed of events has what happens until then: follow it
// from before Exec, and find the run by an id of your own for the call.
func ExampleClient_Exec_progress() {
	base, end := serveGateway()
	defer end()
	c, err := client.New(base, client.Options{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	session, call := host.Session{SessionID: "42"}, "call_7"

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/events", nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	gateway.SetSession(r.Header, session)
	feed, err := http.DefaultClient.Do(r) // once it answers, no event of a later run is missed
	if err != nil {
		log.Fatal(err)
	}
	defer feed.Body.Close()
	told := make(chan error, 1)
	go func() { told <- showProgress(feed.Body, call) }()

	res, err := c.Exec(host.WithToolCallID(ctx, call), session, host.ExecInput{Code: `return await tools.town_of({ User: "Ada" })`})
	if err != nil {
		log.Fatal(err) // no run may have started: do not wait for its events
	}
	if err := <-told; err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.Value))
	// Output:
	// run_started
	// call_started town_of
	// call_ended town_of
	// run_ended
	// "Bern"
}

// showProgress prints the events of the run that a call has started, until it ends or waits.
func showProgress(feed io.Reader, call string) error {
	lines := bufio.NewReader(feed)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue // the name of an event, or a comment
		}
		var e trajectory.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return err
		}
		if e.Kind == trajectory.Gap {
			return nil // too slow: what is missing may be the end, which Exec tells
		}
		if e.ParentCallID != call {
			continue // another run of the session
		}
		fmt.Println(strings.TrimSpace(string(e.Kind) + " " + e.ToolName))
		if e.Kind == trajectory.RunEnded || e.Kind == trajectory.RunSuspended {
			return nil // Exec returns, too
		}
	}
}

// A tool of the caller's is answered between Exec and Wait.
func ExampleClient_Answer() {
	c, end := serveExample()
	defer end()
	session := host.Session{SessionID: "42"}
	r, err := c.Exec(ctx, session, host.ExecInput{
		Code:  `return "hello " + await tools.ask_name()`,
		Tools: []catalog.Tool{{Name: "ask_name", Description: "Asks the user for a name."}},
	})
	for err == nil && r.Status == host.StatusWaiting {
		for _, call := range r.PendingToolCalls {
			err = errors.Join(err, c.Answer(ctx, session, r.RunID, call.ID, host.ToolAnswer{Value: json.RawMessage(`"Ada"`)}))
		}
		if err == nil {
			r, err = c.Wait(ctx, session, r.RunID)
		}
	}
	fmt.Println(string(r.Value), err)
	// Output: "hello Ada" <nil>
}

// With the server's token a caller sees and ends the runs of all sessions.
func ExampleClient_EndRun() {
	c, end := serveExample()
	defer end()
	if _, err := c.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `await yield_control()`}); err != nil {
		log.Fatal(err)
	}
	runs, err := c.Runs(ctx, host.Session{})
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		ended, err := c.EndRun(ctx, host.Session{}, run.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.Session.SessionID, run.Status, ended.Code)
	}
	// Output: 42 waiting aborted
}

// A request that the server refuses is a *gateway.Problem.
func ExampleClient_Tool() {
	c, end := serveExample()
	defer end()
	_, err := c.Tool(ctx, host.Session{SessionID: "42"}, "quoin:core:missing")
	var p *gateway.Problem
	if errors.As(err, &p) {
		fmt.Println(p.Status, p.Code)
	}
	// Output: 404 not_found
}
