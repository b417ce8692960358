// Command client is what the client legs of make mcp-conformance run: a program over
// package mcp, as small as can be. The suite starts it once per scenario, with the address
// of the scenario's server as its argument and the scenario's name in the environment.
//
// It stands for a host, a person and a browser. It signs in wherever that is asked for, by
// following the links; it accepts every form; and it makes the calls that the scenario
// is about.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
)

// The bounds of one scenario.
const (
	scenarioTimeout = 25 * time.Second
	connectTimeout  = 10 * time.Second
	maxRounds       = 8 // of questions in one call
	maxLogins       = 3
)

// name is what the client calls the server.
const name = "conformance"

// metadataURL is the client id metadata document that the suite knows.
const metadataURL = "https://conformance-test.local/client-metadata.json"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scenarioContext is what a scenario says besides its name.
type scenarioContext struct {
	ClientID     string     `json:"client_id"`
	ClientSecret string     `json:"client_secret"`
	ToolCalls    []toolCall `json:"toolCalls"`
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// run plays one scenario.
func run(ctx context.Context, address, scenario, text string) (err error) {
	var more scenarioContext
	if text != "" {
		if err := json.Unmarshal([]byte(text), &more); err != nil {
			return fmt.Errorf("the context of the scenario: %w", err)
		}
	}
	server := mcp.Server{Name: name, URL: address, ConnectTimeout: connectTimeout, Pin: mcp.PinOff, OAuth: mcp.OAuth{ClientMetadataURL: metadataURL}}
	if more.ClientSecret != "" {
		server.OAuth.ClientID = more.ClientID
		server.OAuth.ClientSecret = func() (string, error) { return more.ClientSecret, nil }
	}
	c := &client{server: server}
	if err := c.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.play(ctx, scenario, more.ToolCalls)
}

// client is the host, the person and the browser of one scenario.
type client struct {
	server  mcp.Server
	dir     string
	signIns *mcp.SignIns
	browser *http.Server
	servers *mcp.Servers
}

// open starts what takes the browser back, and starts to connect.
func (c *client) open(ctx context.Context) error {
	var err error
	if c.dir, err = os.MkdirTemp("", "mcp-conformance-client-"); err != nil {
		return err
	}
	aead, err := newCipher()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if c.signIns, err = mcp.OpenSignIns(c.dir, mcp.SignInOptions{Cipher: aead, Logger: log}); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.browser = &http.Server{Handler: c.signIns.Callback("http://" + l.Addr().String() + "/oauth/callback"), ReadHeaderTimeout: connectTimeout}
	go func() {
		if err := c.browser.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	c.servers, err = mcp.Connect([]mcp.Server{c.server}, mcp.Options{Logger: log, Version: "1.0.0", SignIns: c.signIns, FirstDelay: 100 * time.Millisecond})
	return err
}

// newCipher returns a cipher with a key that is forgotten.
func newCipher() (cipher.AEAD, error) {
	key := make([]byte, 32)
	if _, err := io.ReadFull(rand.Reader, key); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// close ends it all.
func (c *client) close() error {
	return errors.Join(c.servers.Close(), c.browser.Close(), os.RemoveAll(c.dir))
}

// connect waits for the connection, and signs in where the server wants that first.
func (c *client) connect(ctx context.Context) error {
	if err := c.servers.Tried(ctx); err != nil {
		return err
	}
	logins := 0
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	var answered error // the refusal that was answered by a login
	for {
		st := c.servers.Status()[0]
		switch {
		case st.State == mcp.StateConnected:
			return nil
		case st.NeedsSignIn && st.Error != answered: // each refusal is an error of its own
			if logins++; logins > maxLogins {
				return st.Error
			}
			answered = st.Error
			if _, err := c.signIns.Login(ctx, c.server, codemode.Session{}, follow(ctx)); err != nil {
				return err
			}
		case st.State == mcp.StateDown && !st.NeedsSignIn && time.Since(start) > connectTimeout:
			return st.Error
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), st.Error)
		}
	}
}

// follow opens a link like the browser of a user who has agreed before.
func follow(ctx context.Context) func(link string) error {
	return func(link string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "the browser shows: %d %s\n", resp.StatusCode, said)
		return nil
	}
}
