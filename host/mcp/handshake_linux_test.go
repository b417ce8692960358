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

// see notes what a server was sent.
func see(method string) error {
	seen, err := os.OpenFile(os.Getenv(seenKey), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = seen.WriteString(method + "\n")
	return errors.Join(err, seen.Close())
}

// seeing has a server note what it is sent, and returns what it has noted.
func seeing(t *testing.T, s Server) (Server, func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seen")
	s.Env[seenKey] = path
	return s, func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
}

// picky is a server that knows one way to start a session. unknown is what it does at
// server/discover, and says whether it continues.
func picky(unknown func(r *raw, q request) (bool, error)) func(*raw) error {
	return func(r *raw) error {
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
			if err := see(q.Method); err != nil {
				return err
			}
			goOn := true
			switch {
			case q.Method == methodDiscover:
				goOn, err = unknown(r, q)
			case q.Method == methodInitialize:
				begun = true
				err = r.reply(q, oldStart)
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

const (
	newMeta     = `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
	newDiscover = `{` + newMeta + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"new","version":"1"}}`
	newList     = `{` + newMeta + `,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	oldStart    = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"0"}}`
)

// slowStart is a server that reads nothing before our patience with it is over.
func slowStart(act func(*raw) error) func(*raw) error {
	return func(r *raw) error {
		time.Sleep(300 * time.Millisecond) // which is what the server is about
		return act(r)
	}
}

// answering answers some methods.
func answering(results map[string]string) func(*raw) error {
	return func(r *raw) error { return r.answer(results) }
}

// answer answers some methods, and refuses the others.
func (r *raw) answer(results map[string]string) error {
	return r.answerOr(results, func(q request) error {
		return r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, q.ID)
	})
}

// answerOr answers some methods, and does something else with the others.
func (r *raw) answerOr(results map[string]string, other func(request) error) error {
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q request
		if err := errors.Join(json.Unmarshal(line, &q), see(q.Method)); err != nil {
			return err
		}
		switch result, ok := results[q.Method]; {
		case q.ID == nil:
		case ok:
			err = r.reply(q, result)
		default:
			err = other(q)
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
	badServers["newer"] = answering(map[string]string{methodDiscover: newDiscover, "tools/list": newList})
	badServers["both"] = answering(map[string]string{methodDiscover: newDiscover, methodInitialize: oldStart, "tools/list": oneTool})
	badServers["newer, without a word on initialize"] = func(r *raw) error {
		return r.answerOr(map[string]string{methodDiscover: newDiscover, "tools/list": newList}, func(request) error { return nil })
	}
	badServers["both, the older first"] = func(r *raw) error {
		var discover request
		return r.answerOr(map[string]string{"tools/list": oneTool}, func(q request) error {
			if q.Method == methodDiscover {
				discover = q
				return nil
			}
			return errors.Join(r.reply(q, oldStart), r.reply(discover, newDiscover))
		})
	}
	for _, role := range []string{"newer", "both", "both, the older first", "newer, without a word on initialize", "ignores discover", "refuses discover oddly", "ends at discover"} {
		badServers["slow: "+role] = slowStart(badServers[role])
	}
	badServers["refuses all"] = answering(nil)
	badServers["starts with a text"] = answering(map[string]string{methodInitialize: `"pong"`})
	for role, takes := range map[string]string{"wants an old version": "2024-11-05", "refuses what it names": "none"} {
		badServers[role] = func(r *raw) error {
			return r.answerOr(map[string]string{"tools/list": oneTool}, func(q request) error {
				if q.Method == methodInitialize && strings.Contains(string(q.Params), `"protocolVersion":"`+takes+`"`) {
					return r.reply(q, strings.Replace(oldStart, "2025-06-18", takes, 1))
				}
				return r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["1999-01-01","2024-11-05"]}}}`, q.ID)
			})
		}
	}
	for role, start := range map[string]string{
		"odd start":           `{"capabilities":{"tools":{"listChanged":"yes"},"prompts":false},"serverInfo":{"name":5},"instructions":[]}`,
		"capabilities in PHP": `{"protocolVersion":"2025-06-18","capabilities":[],"serverInfo":"f"}`,
	} {
		badServers[role] = answering(map[string]string{methodInitialize: start, "tools/list": oneTool})
	}
	badServers["without a list"] = answering(map[string]string{methodInitialize: `{"protocolVersion":"2025-06-18","capabilities":{"tools":null,"resources":{}}}`})
	badServers["of tomorrow"] = answering(map[string]string{methodInitialize: `{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`})
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
			server, seen := seeing(t, self(t, "old", role))
			w := connect(t, impatient(), server)
			if !w.has("t") {
				t.Fatalf("not connected: %v\n%s", w.Status()[0].Error, w.log)
			}
			w.refuse(t, t.Context(), "old", "t", `{}`) // the server ends
			w.until(t, func() bool { return strings.Count(seen(), "tools/list") == 2 && w.has("t") })
			const list = " notifications/initialized tools/list"
			if got, want := seen(), begun+list+" tools/call initialize"+list; got != want {
				t.Errorf("the server was sent\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestSlowServers: a program that is slow to start is started once, whichever protocol it
// speaks. One that ends at the first message of the newer is started again.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	const older, newer = "2025-06-18", statelessVersion
	for role, want := range map[string]struct{ protocol, sent string }{
		"newer":                               {newer, "server/discover initialize tools/list"},
		"newer, without a word on initialize": {newer, "server/discover initialize tools/list"},
		"both":                                {older, "server/discover initialize notifications/initialized tools/list"},
		"both, the older first":               {older, "server/discover initialize notifications/initialized tools/list"},
		"ignores discover":                    {older, "server/discover initialize notifications/initialized tools/list"},
		"refuses discover oddly":              {older, "server/discover initialize notifications/initialized tools/list"},
		"ends at discover":                    {older, "server/discover initialize notifications/initialized tools/list"},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			server, seen := seeing(t, self(t, "slow", "slow: "+role))
			w := connect(t, impatient(), server)
			if got := w.Status()[0]; got.Protocol != want.protocol || seen() != want.sent {
				t.Fatalf("status %+v; it was sent %s\n%s", got, seen(), w.log)
			}
			if again := strings.Contains(w.log.String(), "asked in the older way"); again != (role == "ends at discover") {
				t.Errorf("started again: %v\n%s", again, w.log)
			}
			if strings.Contains(w.log.String(), strayAnswer) {
				t.Errorf("the log has an answer to the start that was not taken:\n%s", w.log)
			}
		})
	}
}

// TestARefusalOfBothIsTold at once: a program that refuses both is not waited for.
func TestARefusalOfBothIsTold(t *testing.T) {
	t.Parallel()
	server, _ := seeing(t, self(t, "no", "refuses all"))
	w := connect(t, impatient(), server)
	if err := w.Status()[0].Error; err == nil || !strings.Contains(err.Error(), "no such method") {
		t.Errorf("the server is down because of: %v", err)
	}
}

// TestVersionOfTomorrow: a version that the host does not speak is named.
func TestVersionOfTomorrow(t *testing.T) {
	t.Parallel()
	server, _ := seeing(t, self(t, "x", "of tomorrow"))
	w := connect(t, impatient(), server)
	err := w.Status()[0].Error
	if err == nil || !strings.Contains(err.Error(), `"2099-01-01"`) || !strings.Contains(err.Error(), statelessVersion) {
		t.Errorf("the server is down because of: %v", err)
	}
}

// TestOddStarts: what cannot be read of the answer that starts a session costs no session, and a
// version that the server names is asked for.
func TestOddStarts(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"odd start": "2025-11-25", "capabilities in PHP": "2025-06-18", "wants an old version": "2024-11-05", "without a list": "2025-06-18",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			server, _ := seeing(t, self(t, "x", role))
			w := connect(t, impatient(), server)
			if st := w.Status()[0]; st.Protocol != want || w.has("t") == (role == "without a list") {
				t.Errorf("status %+v, tools %q", st, w.names())
			}
		})
	}
}

// TestStartsThatFail are told as what they are.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]struct{ text, told string }{
		"starts with a text":    {`it answered with "pong", not with an object`, ""},
		"refuses what it names": {`names "1999-01-01, 2024-11-05"`, "it speaks a version of MCP that this host does not"},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			server, _ := seeing(t, self(t, "x", role))
			w := connect(t, impatient(), server)
			err := w.Status()[0].Error
			if err == nil || !strings.Contains(err.Error(), want.text) || permanent(err) != want.told {
				t.Errorf("the server is down because of: %v", err)
			}
		})
	}
}
