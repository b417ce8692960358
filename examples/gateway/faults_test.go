package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
)

// start opens a gateway in a directory of its own.
func start(t *testing.T, o options) *gateway {
	t.Helper()
	if o.stateDir == "" {
		o.stateDir = t.TempDir()
	}
	if o.model == "" {
		o.model = "scripted"
	}
	if o.key == "" {
		o.key = "test-key"
	}
	if o.tools == nil {
		o.tools = []catalog.Tool{onCall}
	}
	o.host.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	g, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// heard are the events of a conversation.
type heard struct {
	text    string
	results []string
}

// converse says one thing and advances the conversation until it stops.
func converse(t *testing.T, g *gateway, c *conversation, text string) (h heard, err error) {
	t.Helper()
	if text != "" {
		if err := g.say(c, text); err != nil {
			return h, err
		}
	}
	asked, err := g.advance(t.Context(), c, func(e event) {
		switch e.Kind {
		case eventText:
			h.text += e.Text
		case eventResult:
			h.results = append(h.results, e.Text)
		}
	})
	if len(asked) > 0 {
		err = errors.Join(err, errors.New("a call waits for an approval"))
	}
	return h, err
}

func fresh(t *testing.T, g *gateway) *conversation {
	t.Helper()
	c, err := g.conversation("test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func greet(scripted.Conversation) (scripted.Reply, error) { return scripted.Reply{Text: "Hello."}, nil }

// TestFaultsOfTheModel: each failure is told in words that say what to do, and leaves the
// conversation so that asking again succeeds.
func TestFaultsOfTheModel(t *testing.T) {
	for _, p := range providers {
		for name, tc := range map[string]struct {
			fault scripted.Fault
			want  string
		}{
			"401": {scripted.Fault{Status: 401}, "refuses the key (HTTP 401): check " + apis[p].keyVariable},
			"404": {scripted.Fault{Status: 404}, `does not have the model "scripted" (HTTP 404): choose another with -model`},
			"429": {scripted.Fault{Status: 429, RetryAfter: 7}, "takes no more requests for now (HTTP 429): continue after 7 s"},
			"400": {scripted.Fault{Status: 400}, "refuses the request (HTTP 400): "},
			"503": {scripted.Fault{Status: 503}, "has failed (HTTP 503) and has lost nothing: continue in a while"},
			"529": {scripted.Fault{Status: 529}, "has failed (HTTP 529) and has lost nothing: continue in a while"},
			"cut": {scripted.Fault{CutAfter: 2}, "the answer broke off before its end; what came of it is not kept: continue to ask again"},
		} {
			t.Run(string(p)+"/"+name, func(t *testing.T) {
				e := &scripted.Endpoint{Script: []scripted.Turn{greet}, Faults: map[int]scripted.Fault{1: tc.fault}}
				g := start(t, options{provider: p, baseURL: endpoint(t, e)(p)})
				c := fresh(t, g)
				if _, err := converse(t, g, c, "Hello?"); err == nil || !strings.Contains(err.Error(), string(p)+": "+tc.want) && !strings.Contains(err.Error(), string(p)+" "+tc.want) {
					t.Errorf("got %v, want %s", err, tc.want)
				}
				if h, err := converse(t, g, c, ""); err != nil || h.text != "Hello." {
					t.Errorf("asked again, it said %q, %v", h.text, err)
				}
			})
		}
	}
}

// TestACleanEndIsNoAnswer: a stream that ends in good order, but before the answer does,
// is cut off too.
func TestACleanEndIsNoAnswer(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
			}))
			defer server.Close()
			g := start(t, options{provider: p, baseURL: server.URL})
			if _, err := converse(t, g, fresh(t, g), "Hello?"); !errors.Is(err, errCut) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNothingIsSentThatShowsTools: a request with another tool does not leave the process,
// and is not tried again.
func TestNothingIsSentThatShowsTools(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			e := &scripted.Endpoint{Script: []scripted.Turn{greet}}
			g := start(t, options{provider: p, baseURL: endpoint(t, e)(p), retries: 2})
			turn, err := g.modelTools(t.Context(), fresh(t, g), "")
			if err != nil {
				t.Fatal(err)
			}
			tools, err := modeltools.Render(p, append([]catalog.Tool{onCall}, turn.Visible...))
			if err != nil {
				t.Fatal(err)
			}
			items, err := encoded(g.provider.said("Hello?"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = ask(context.Background(), g.provider, request{model: "scripted", instructions: instructions, tools: tools, items: items,
				verify: func(body []byte) error { return turn.VerifyRequest(p, body) }}, func(string) {})
			var refused *host.Error
			if !errors.As(err, &refused) || refused.Code != codemode.CodeInternal || e.Requests() != 0 {
				t.Errorf("%d requests were sent; the error is %v", e.Requests(), err)
			}
		})
	}
}
