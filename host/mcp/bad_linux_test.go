package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReplies: what is not an answer rejects its call, and the connection stays.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role string
		code Code
		text string
	}{
		{"oversize", CodeReplyTooLarge, "larger than"},
		{"deep", CodeInvalidReply, "not a message"},
		{"nested", CodeInvalidReply, "nested more than 100 levels"},
		{"garbage", CodeInvalidReply, "not a message"},
		{"many", CodeReplyTooLarge, "more than 500000 values"},
		{"list", CodeInvalidReply, "not an object"},
		{"text", CodeInvalidReply, "content is not a list"},
		{"asks", CodeNeedsInput, "asks a person"},
	} {
		t.Run(c.role, func(t *testing.T) {
			w := connect(t, Options{}, self(t, "bad", c.role))
			e := w.refuse(t, t.Context(), "bad", "t", `{}`)
			if e.Code != c.code || !e.Unknown || !strings.Contains(e.Message, c.text) || !strings.Contains(e.Message, "MCP server bad") {
				t.Errorf("%+v", e)
			}
			if st := w.Status()[0]; st.State != StateConnected {
				t.Errorf("status %+v", st)
			}
		})
	}
}

func TestAnOversizeReplyLeavesTheConnection(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "oversize"))
	w.refuse(t, t.Context(), "bad", "t", `{}`)
	w.call(t, "bad", "t", `{}`)
}

// TestAnOversizeReplyWithoutAnID: no one knows which call it answered, so all calls of the
// connection end, and the next connection is as good as new.
func TestAnOversizeReplyWithoutAnID(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "oversize-anonymous"))
	if e := w.refuse(t, t.Context(), "bad", "t", `{}`); e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%+v", e)
	}
	w.until(t, func() bool { return !w.has("t") })
	w.until(t, func() bool { return w.has("t") })
}

// TestWhatTheSDKDoesNotKnow: guests get results as the server sent them.
func TestWhatTheSDKDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "novel"))
	raw, err := w.Call(t.Context(), Request{Server: "bad", Tool: "t", Input: json.RawMessage(`{}`)})
	if want := `{"content":[{"type":"hologram","z":1,"a":2}],"extra":true}`; err != nil || string(raw) != want {
		t.Errorf("got %s, %v\nwant %s", raw, err, want)
	}
}

func TestABrokenListIsNoConnection(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{FirstDelay: time.Hour}, self(t, "bad", "badlist"))
	if st := w.Status()[0]; st.State != StateDown || !strings.Contains(fmt.Sprint(st.Error), "listing tools") {
		t.Errorf("status %+v", st)
	}
}

// TestSchemas: what cannot be read in a schema costs no tool.
func TestSchemas(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "schemas"))
	if got := w.names(); !slices.Equal(got, []string{"none", "null", "broken", "ordered", "string", "array", "huge"}) {
		t.Fatalf("tools %q", got)
	}
	tools := w.Tools()
	if string(tools[0].Input) != `{"type":"object"}` || string(tools[1].Input) != `{"type":"object"}` {
		t.Errorf("no schema became %s and %s", tools[0].Input, tools[1].Input)
	}
	if want := `{"type":"object","properties":{"z":{},"a":{}}}`; string(tools[3].Input) != want || tools[3].Output != nil {
		t.Errorf("the schema became %s, %s", tools[3].Input, tools[3].Output)
	}
	for _, name := range []string{"broken", "string", "array", "huge"} {
		if !strings.Contains(w.log.String(), name+" (") {
			t.Errorf("the log does not say what was not read of %s", name)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "names"))
	if got := w.names(); !slices.Equal(got, []string{"a:b/c d", "天気", "__proto__", "twice", "resources_list_tool", "long"}) {
		t.Fatalf("tools %q", got)
	}
	tools := w.Tools()
	if tools[3].Description != "first" {
		t.Errorf("of two tools of one name the second won: %+v", tools[3])
	}
	long := tools[5]
	if len(long.Title) > maxTitle || len(long.Description) > maxDescription || !strings.HasPrefix(long.Description, "abé") || !strings.HasSuffix(long.Description, "…") {
		t.Errorf("title of %d bytes, description of %d: %.20q", len(long.Title), len(long.Description), long.Description)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]int{"crowd": maxTools, "endless": maxPages, "circle": 1} {
		t.Run(role, func(t *testing.T) {
			s := self(t, "bad", role)
			s.ConnectTimeout = maxConnectTimeout // a thousand pages
			w := connect(t, Options{}, s)
			if got := len(w.Tools()); got != want {
				t.Errorf("%d tools, want %d", got, want)
			}
			if !strings.Contains(w.log.String(), errEndless.Error()) {
				t.Errorf("the log does not say that the list was cut:\n%s", w.log)
			}
		})
	}
}

// TestChatter: lines that are no messages are logged, at a bounded rate.
func TestChatter(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "chatty"))
	w.call(t, "bad", "t", `{}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := w.log.String()
	for _, want := range []string{"Welcome to chatty!", "stream=stdout", "stream=stderr", "lines were dropped"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if n := strings.Count(log, "stream=stderr"); n >= 4000 {
		t.Errorf("%d of 5000 lines were logged", n)
	}
}

// TestAServerThatAsksWithoutEnd is cut off.
func TestAServerThatAsksWithoutEnd(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "bad", "greedy"))
	if e := w.refuse(t, t.Context(), "bad", "t", `{}`); e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%+v", e)
	}
}

// TestSilence: a server that answers neither a call nor the question for its list
// is ended and started again.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"mute", "deaf"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := self(t, "bad", role)
			s.CallTimeout, s.ConnectTimeout = minTimeout, 3*time.Second
			w := connect(t, Options{StopTimeout: time.Millisecond}, s)
			w.until(t, func() bool { return w.has("t") })
			input := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
			if e := w.refuse(t, t.Context(), "bad", "t", input); e.Code != CodeTimeout && e.Code != CodeClosed || !e.Unknown {
				t.Errorf("%+v", e) // whichever of the two is noticed first
			}
			w.until(t, func() bool { return !w.has("t") })
			w.until(t, func() bool { return w.has("t") })
		})
	}
}

// TestAnnouncementsAreBounded: however often a list is said to have changed, it is
// asked for once in RefreshDelay.
func TestAnnouncementsAreBounded(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{RefreshDelay: time.Hour}, self(t, "bad", "restless"))
	w.call(t, "bad", "t", `{}`)
	out := w.call(t, "bad", "t", `{}`)
	if lists := out["structuredContent"].(map[string]any)["lists"]; lists != 1.0 {
		t.Errorf("the list was asked for %v times", lists)
	}
}
