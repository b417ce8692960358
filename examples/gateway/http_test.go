package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

// order is a tool that asks a person for more, and counts how often it has had its effect.
func order(effects *int) catalog.Tool {
	return catalog.Tool{Name: "order", Description: "Orders a shirt.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		if c.Resumption == nil {
			return nil, &codemode.InputRequired{Questions: []codemode.Question{{
				ID: "size", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
				Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["S","M"]}},"required":["size"]}`),
			}}}
		}
		*effects++
		return c.Resumption.Answers["size"].Content, nil
	}}
}

// site is a gateway behind its HTTP API.
type site struct {
	t   *testing.T
	url string
}

func serve(t *testing.T, g *gateway) site {
	t.Helper()
	server := httptest.NewServer(g.api())
	t.Cleanup(server.Close)
	return site{t, server.URL + "/v1/conversations/"}
}

// post sends a request and returns the events of the response.
func (s site) post(path, body string, status int) (list []event) {
	s.t.Helper()
	resp, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != status {
		b, err := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: %s %s %v, expected %d", path, resp.Status, b, err, status)
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			var e event
			if err := json.Unmarshal(data, &e); err != nil {
				s.t.Fatal(err)
			}
			list = append(list, e)
		}
	}
	return list
}

// last returns the event at the end of a response, of a kind.
func (s site) last(list []event, kind eventKind) event {
	s.t.Helper()
	if len(list) == 0 || list[len(list)-1].Kind != kind {
		s.t.Fatalf("the events are %+v, expected the last to be %s", list, kind)
	}
	return list[len(list)-1]
}

// valueOf has the model say what its last program returned.
func valueOf(c scripted.Conversation) (scripted.Reply, error) {
	r, err := onlyResult(c.Last())
	return scripted.Reply{Text: string(r.Value) + r.Error}, err
}

func programTurn(code string) scripted.Turn {
	return func(scripted.Conversation) (scripted.Reply, error) { return execCall(code) }
}

// TestQuestionsOverHTTP: a question ends the response, and is answered by a request of its
// own, to another process than the one that asked. Others cannot answer it.
func TestQuestionsOverHTTP(t *testing.T) {
	effects, dir := 0, t.TempDir()
	e := &scripted.Endpoint{Script: []scripted.Turn{programTurn(`text("first"); const { size } = await tools.order(); return (await tools.on_call({ area: size })).name;`), valueOf}}
	url := endpoint(t, e)(modeltools.ProviderOpenAI)
	open := func() (*gateway, site) {
		g := start(t, options{provider: modeltools.ProviderOpenAI, baseURL: url, stateDir: dir, tools: []catalog.Tool{onCall, order(&effects)}, ask: []string{"on_call"}})
		return g, serve(t, g)
	}
	first, s := open()
	asked := s.last(s.post("main/messages", `{"text":"Order a shirt."}`, 200), eventQuestion).Question
	if len(asked.Asks) != 1 || asked.Asks[0].Message != "Which size?" {
		t.Fatalf("asked %+v", asked)
	}
	s.post("main/messages", `{"text":"And a hat."}`, http.StatusConflict)
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	_, s = open()
	id, err := json.Marshal(asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(rest string) string { return `{"question":` + string(id) + `,` + rest + `}` }
	s.post("other/answers", answer(`"answers":{"size":{"action":"accept","content":{"size":"M"}}}`), http.StatusNotFound)
	s.post("main/answers", answer(`"answers":{"size":{"action":"accept","content":{"size":"XXL"}}}`), http.StatusBadRequest)
	asked = s.last(s.post("main/answers", answer(`"answers":{"size":{"action":"accept","content":{"size":"M"}}}`), 200), eventQuestion).Question
	if asked.Tool != "on_call" || string(asked.Input) != `{"area":"M"}` {
		t.Fatalf("asked %+v", asked)
	}
	if again := s.last(s.post("main/continue", ``, 200), eventQuestion).Question; again.ID != asked.ID {
		t.Errorf("continue asked %+v", again)
	}
	list := s.post("main/answers", `{"question":"`+asked.ID+`","decision":"allow-once"}`, 200)
	s.last(list, eventDone)
	var text, result string
	for _, e := range list {
		switch e.Kind {
		case eventText:
			text += e.Text
		case eventResult:
			result += e.Text
		}
	}
	if text == "" || effects != 1 || !strings.Contains(result, `"output":["first"]`) {
		t.Errorf("%d effects, it said %q about %s", effects, text, result)
	}
	resp, err := http.Get(s.url + "main")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var state struct {
		Items     []json.RawMessage
		Open      bool
		Questions []question
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil || len(state.Items) != 4 || state.Open || len(state.Questions) != 0 {
		t.Errorf("the conversation is %+v, %v", state, err)
	}
}

// TestAReaderThatLeaves does not end the program.
func TestAReaderThatLeaves(t *testing.T) {
	entered, through := make(chan struct{}), make(chan struct{})
	slow := catalog.Tool{Name: "slow", Description: "Takes its time.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		close(entered)
		select {
		case <-through:
			return json.RawMessage(`7`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
	done := make(chan string, 1)
	e := &scripted.Endpoint{Script: []scripted.Turn{programTurn(`return await tools.slow();`), func(c scripted.Conversation) (scripted.Reply, error) {
		r, err := onlyResult(c.Last())
		done <- string(r.Value) + r.Error
		return scripted.Reply{Text: "Done."}, err
	}}}
	g := start(t, options{provider: modeltools.ProviderAnthropic, baseURL: endpoint(t, e)(modeltools.ProviderAnthropic), tools: []catalog.Tool{slow}})
	s := serve(t, g)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"main/messages", strings.NewReader(`{"text":"Go."}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	leave()
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.Body.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("the reader ended with %v", err)
	}
	close(through)
	if got := <-done; got != "7" {
		t.Errorf("the model was told %s", got)
	}
}

// TestWhoMayAsk: pages of other sites, requests for other hosts, and wrong requests.
func TestWhoMayAsk(t *testing.T) {
	g := start(t, options{provider: modeltools.ProviderOpenAI, baseURL: "http://127.0.0.1:1"})
	for name, tc := range map[string]struct {
		method, path, host, origin, body string
		want                             int
	}{
		"another site":          {"POST", "main/messages", "localhost", "https://example.com", `{"text":"x"}`, http.StatusForbidden},
		"another host":          {"GET", "main", "example.com:8788", "", ``, http.StatusForbidden},
		"no text":               {"POST", "main/messages", "localhost", "", `{}`, http.StatusBadRequest},
		"no JSON":               {"POST", "main/answers", "localhost", "", `x`, http.StatusBadRequest},
		"an id that is a path":  {"GET", "..%2Fruns", "127.0.0.1:8788", "", ``, http.StatusBadRequest},
		"an unknown question":   {"POST", "main/answers", "[::1]:8788", "", `{"question":"x","decision":"deny"}`, http.StatusNotFound},
		"an unknown one":        {"GET", "main", "localhost", "", ``, http.StatusNotFound},
		"an unknown one to end": {"DELETE", "main", "localhost", "", ``, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://localhost/v1/conversations/"+tc.path, strings.NewReader(tc.body))
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			w := httptest.NewRecorder()
			g.api().ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("status %d, expected %d: %s", w.Code, tc.want, w.Body)
			}
		})
	}
}

// TestACallOfALostProcess: when the process of a program ended before the run was stored,
// the model is told that the program may have had effects. It is not run again.
func TestACallOfALostProcess(t *testing.T) {
	e := &scripted.Endpoint{Script: []scripted.Turn{programTurn(`return 1;`), valueOf}}
	g := start(t, options{provider: modeltools.ProviderResponses, baseURL: endpoint(t, e)(modeltools.ProviderResponses)})
	c := fresh(t, g)
	if err := g.say(c, "Go."); err != nil {
		t.Fatal(err)
	}
	if err := g.askModel(t.Context(), c, func(event) {}); err != nil {
		t.Fatal(err)
	}
	c.Calls[0].Started = true // the process ended here
	if err := g.conversations.save(c); err != nil {
		t.Fatal(err)
	}
	h, err := converse(t, g, fresh(t, g), "")
	if err != nil || !strings.Contains(h.text, "may have taken effect: look before you repeat it") {
		t.Errorf("it said %q, %v", h.text, err)
	}
}

// TestDenied: a person's no is an error that the program can catch.
func TestDenied(t *testing.T) {
	e := &scripted.Endpoint{Script: []scripted.Turn{programTurn(`try { return await tools.on_call({ area: "data" }); } catch (e) { return e.code; }`), valueOf}}
	g := start(t, options{provider: modeltools.ProviderOpenAI, baseURL: endpoint(t, e)(modeltools.ProviderOpenAI), ask: []string{"on_call"}})
	var out strings.Builder
	if err := g.talk(t.Context(), "main", strings.NewReader("Who?\nn\n"), &out); err != nil || !strings.Contains(out.String(), "? Allow on_call? {\"area\":\"data\"}\nallow? [y/N] ") || !strings.Contains(out.String(), `model> "denied"`) {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestAnInputThatEndsAtAQuestion leaves the question for later.
func TestAnInputThatEndsAtAQuestion(t *testing.T) {
	e := &scripted.Endpoint{Script: []scripted.Turn{programTurn(`return await tools.on_call({ area: "data" });`)}}
	g := start(t, options{provider: modeltools.ProviderOpenAI, baseURL: endpoint(t, e)(modeltools.ProviderOpenAI), ask: []string{"on_call"}})
	var out strings.Builder
	if err := g.talk(t.Context(), "main", strings.NewReader("Who?\n"), &out); !errors.Is(err, errNotAnswered) {
		t.Errorf("%v\n%s", err, &out)
	}
	if left, err := g.host.Approvals().List(t.Context(), policy.Filter{}); err != nil || len(left) != 1 {
		t.Errorf("%d questions are left, %v", len(left), err)
	}
}

// TestConversationFiles: what is stored is checked when it is read.
func TestConversationFiles(t *testing.T) {
	g := start(t, options{provider: modeltools.ProviderOpenAI, baseURL: "http://127.0.0.1:1"})
	for id, want := range map[string]error{"UP": errConversation, "../x": errConversation, "": errConversation, "fine": nil} {
		if _, err := g.conversation(id); !errors.Is(err, want) {
			t.Errorf("%q: %v", id, err)
		}
	}
	c := fresh(t, g)
	c.Provider = modeltools.ProviderAnthropic
	if err := g.conversations.save(c); err != nil {
		t.Fatal(err)
	}
	if _, err := g.conversation(c.ID); err == nil || !strings.Contains(err.Error(), "start with -provider anthropic") {
		t.Errorf("a conversation with another provider: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(g.conversations.dir, ".new-*")); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if release, err := g.conversations.hold("main"); err != nil {
		t.Error(err)
	} else {
		if _, err := g.conversations.hold("main"); !errors.Is(err, errBusy) {
			t.Errorf("a second holder: %v", err)
		}
		release()
	}
}

// TestNoKey: a server of one's own is asked without a key.
func TestNoKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "")
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			server := httptest.NewServer(&scripted.Endpoint{Script: []scripted.Turn{greet}})
			defer server.Close()
			base := server.URL
			if p != modeltools.ProviderAnthropic {
				base += "/v1"
			}
			var stdout, stderr strings.Builder
			args := []string{"chat", "-best-effort", "-provider", string(p), "-model", "scripted", "-base-url", base, "-state", t.TempDir()}
			if err := run(args, strings.NewReader("Hello?\n"), &stdout, &stderr); err != nil || !strings.Contains(stdout.String(), "Hello.") {
				t.Errorf("%v: %s%s", err, &stdout, &stderr)
			}
		})
	}
}

// TestUsage: what is wrong with a command line is said in words.
func TestUsage(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "x")
	state := t.TempDir()
	for args, want := range map[string]string{
		"":                                     "usage: gateway chat|serve",
		"chat":                                 "OPENAI_API_KEY is not set: it has to be the key of openai",
		"chat -provider anthropic here":        `"here" is no flag of gateway chat`,
		"chat -provider other -state " + state: "the provider \"other\" is not one of openai, openai-responses and anthropic",
		"serve -provider anthropic -listen 0.0.0.0:0 -state " + state:         "is not an address of the loopback interface",
		"chat -provider anthropic -conversation ../../x -state " + state + "": errConversation.Error(),
	} {
		var stdout, stderr strings.Builder
		if err := run(strings.Fields(args), strings.NewReader(""), &stdout, &stderr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("gateway %s: %v, expected %s", args, err, want)
		}
	}
}
