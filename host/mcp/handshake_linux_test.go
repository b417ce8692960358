package mcp

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seenKey names the file in which a server of this file writes what it was sent.
const seenKey = "QUOIN_TEST_MCP_SEEN"

// picky is a server that knows one way to start a session. unknown is what it does at
// server/discover, and says whether it goes on.
func picky(unknown func(r *raw, q request) (bool, error)) func(*raw) error {
	return func(r *raw) error {
		seen, err := os.OpenFile(os.Getenv(seenKey), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer seen.Close()
		begun := false
		for {
			line, err := r.in.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var q request
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			if _, err := seen.WriteString(q.Method + "\n"); err != nil {
				return err
			}
			goOn := true
			switch {
			case q.Method == methodDiscover:
				goOn, err = unknown(r, q)
			case q.Method == methodInitialize:
				begun = true
				err = r.reply(q, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"0"}}`)
			case !begun:
				return errors.New("expected initialize")
			case q.Method == "tools/list":
				err = r.reply(q, oneTool)
			case q.ID != nil:
				goOn = false // so that it is started again
			}
			if err != nil || !goOn {
				return err
			}
		}
	}
}

// slowNewer starts when its patience with us is over, and speaks only the newer protocol.
func slowNewer(r *raw) error {
	// A slow start, which is what the server is about.
	time.Sleep(300 * time.Millisecond)
	const meta = `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
	return r.answer(map[string]string{
		methodDiscover: `{` + meta + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"new","version":"1"}}`,
		"tools/list":   `{` + meta + `,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
	})
}

// answer answers some methods, and refuses the others.
func (r *raw) answer(results map[string]string) error {
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		switch result, ok := results[q.Method]; {
		case q.ID == nil:
		case ok:
			err = r.reply(q, result)
		default:
			err = r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, q.ID)
		}
		if err != nil {
			return err
		}
	}
}

func init() {
	badServers["ends at discover"] = picky(func(*raw, request) (bool, error) { return false, nil })
	badServers["fails at discover"] = picky(func(*raw, request) (bool, error) { return false, errors.New("expected initialize") })
	badServers["ignores discover"] = picky(func(*raw, request) (bool, error) { return true, nil })
	badServers["refuses discover oddly"] = picky(func(r *raw, q request) (bool, error) {
		return true, r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":7,"message":"not initialized"}}`, q.ID)
	})
	badServers["refuses discover and ends"] = picky(func(r *raw, q request) (bool, error) {
		return false, r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"bye"}}`, q.ID)
	})
	badServers["answers nonsense to discover"] = picky(func(r *raw, q request) (bool, error) { return true, r.reply(q, `"pong"`) })
	badServers["slow and newer"] = slowNewer
	badServers["of tomorrow"] = func(r *raw) error {
		return r.answer(map[string]string{methodInitialize: `{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`})
	}
}

// impatient waits a moment for the answer to server/discover.
func impatient() Options {
	times := tenth
	times.discoverWait = 100 * time.Millisecond
	return Options{times: times}
}

// TestHandshake: a program of the older protocol is reached whatever it does at the first
// message of the newer one, and the next start does what worked.
func TestHandshake(t *testing.T) {
	t.Parallel()
	for role, begun := range map[string]string{
		"ends at discover":             "server/discover initialize",
		"fails at discover":            "server/discover initialize",
		"refuses discover and ends":    "server/discover initialize",
		"ignores discover":             "server/discover initialize",
		"refuses discover oddly":       "server/discover initialize",
		"answers nonsense to discover": "server/discover initialize",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			server := self(t, "old", role)
			seen := filepath.Join(t.TempDir(), "seen")
			server.Env[seenKey] = seen
			w := connect(t, impatient(), server)
			if !w.has("t") {
				t.Fatalf("not connected: %v\n%s", w.Status()[0].Error, w.log)
			}
			w.refuse(t, t.Context(), "old", "t", `{}`) // the server ends
			count := func() int {
				text, err := os.ReadFile(seen)
				if err != nil {
					t.Fatal(err)
				}
				return strings.Count(string(text), "tools/list")
			}
			w.until(t, func() bool { return count() == 2 && w.has("t") })
			text, err := os.ReadFile(seen)
			if err != nil {
				t.Fatal(err)
			}
			const list = " notifications/initialized tools/list"
			if got, want := strings.Join(strings.Fields(string(text)), " "), begun+list+" tools/call initialize"+list; got != want {
				t.Errorf("the server was sent\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestSlowNewerServer: a program that is slow to start, and speaks no older protocol, is
// not taken for an old one.
func TestSlowNewerServer(t *testing.T) {
	t.Parallel()
	w := connect(t, impatient(), func() Server { s := self(t, "new", "slow and newer"); s.Env[seenKey] = "/nonexistent"; return s }())
	if got := w.Status()[0]; got.Protocol != statelessVersion {
		t.Fatalf("status %+v\n%s", got, w.log)
	}
}

// TestVersionOfTomorrow: a version that the host does not speak is named.
func TestVersionOfTomorrow(t *testing.T) {
	t.Parallel()
	w := connect(t, impatient(), self(t, "x", "of tomorrow"))
	err := w.Status()[0].Error
	if err == nil || !strings.Contains(err.Error(), `"2099-01-01"`) || !strings.Contains(err.Error(), statelessVersion) {
		t.Errorf("the server is down because of: %v", err)
	}
}
