package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
)

// addAsking gives a server a tool that asks in the middle of its call, as servers of
// 2025-11-25 do: Text, with a form, or with a page if N is 1.
func addAsking(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, in textIn) (*sdk.CallToolResult, any, error) {
		p := &sdk.ElicitParams{Message: in.Text, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`)}
		if in.N == 1 {
			p = &sdk.ElicitParams{Mode: "url", Message: in.Text, URL: "https://a.example/" + in.Text, ElicitationID: in.Text}
		}
		answer, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return result(map[string]any{"asked": in.Text, "action": answer.Action, "word": answer.Content["word"]}), nil, nil
	})
}

func init() {
	badServers["asks-in-between"] = func(*raw) error {
		s := goodServer("ask", "2025-11-25")
		addAsking(s)
		return s.Run(context.Background(), &sdk.StdioTransport{})
	}
}

// asker is a person: it answers a question with its own text.
func asker(t *testing.T, want *codemode.Question) func(context.Context, codemode.Question) (codemode.QuestionAnswer, error) {
	return func(_ context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
		if want != nil {
			if diff := cmp.Diff(*want, q); diff != "" {
				t.Error(diff)
			}
		}
		content, err := json.Marshal(map[string]string{"word": "re " + q.Message})
		if q.Kind == codemode.QuestionURL {
			content = nil
		}
		return codemode.QuestionAnswer{Action: codemode.AnswerAccept, Content: content}, err
	}
}

func askRequest(tool, text string, n int) Request {
	return Request{Server: "ask", Tool: tool, Input: json.RawMessage(fmt.Sprintf(`{"text":%q,"n":%d}`, text, n)), Session: codemode.Session{SessionID: "s"}}
}

// askingWorlds are the two ways to a server that asks in the middle of a call.
func askingWorlds(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("stdio", func(t *testing.T) { f(t, connect(t, Options{}, self(t, "ask", "asks-in-between"))) })
	t.Run("http", func(t *testing.T) {
		s := goodServer("ask", "2025-11-25")
		addAsking(s)
		f(t, connect(t, Options{}, Server{Name: "ask", URL: serveHTTP(t, s, nil)}))
	})
}

// TestAQuestionInTheMiddleOfACall reaches the person of that call.
func TestAQuestionInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	askingWorlds(t, func(t *testing.T, w *world) {
		for n, c := range []struct {
			want codemode.Question
			got  string
		}{
			{codemode.Question{ID: "1", Kind: codemode.QuestionForm, From: "ask", Message: "eh", Schema: json.RawMessage(`{"properties":{"word":{"type":"string"}},"type":"object"}`)}, `{"action":"accept","asked":"eh","word":"re eh"}`},
			{codemode.Question{ID: "1", Kind: codemode.QuestionURL, From: "ask", Message: "eh", URL: "https://a.example/eh"}, `{"action":"accept","asked":"eh","word":null}`},
		} {
			r := askRequest("ask", "eh", n)
			r.Ask = asker(t, &c.want)
			raw, err := w.Call(t.Context(), r)
			if err != nil || !strings.Contains(string(raw), c.got) {
				t.Errorf("%s, %v\n%s", raw, err, w.log)
			}
			r.Ask = nil
			if raw, err := w.Call(t.Context(), r); err != nil || !strings.Contains(string(raw), `"action":"decline"`) {
				t.Errorf("where no person can be asked: %s, %v", raw, err)
			}
		}
	})
}

// TestTheTimeOfACallDoesNotRunWhileAPersonThinks.
func TestTheTimeOfACallDoesNotRunWhileAPersonThinks(t *testing.T) {
	t.Parallel()
	s := self(t, "ask", "asks-in-between")
	s.CallTimeout = 2 * time.Second // a busy machine takes some of it
	w := connect(t, Options{}, s)
	r := askRequest("ask", "eh", 0)
	r.Ask = func(ctx context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
		select {
		case <-time.After(s.CallTimeout * 5 / 4):
			return asker(t, nil)(ctx, q)
		case <-ctx.Done():
			return codemode.QuestionAnswer{}, ctx.Err()
		}
	}
	if raw, err := w.Call(t.Context(), r); err != nil || !strings.Contains(string(raw), `"word":"re eh"`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestACallThatEndsTakesItsQuestionBack.
func TestACallThatEndsTakesItsQuestionBack(t *testing.T) {
	t.Parallel()
	askingWorlds(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		taken := make(chan struct{})
		r := askRequest("ask", "eh", 0)
		r.Ask = func(ctx context.Context, _ codemode.Question) (codemode.QuestionAnswer, error) {
			cancel()
			<-ctx.Done()
			close(taken)
			return codemode.QuestionAnswer{}, ctx.Err()
		}
		// The tool hears that its question is taken back, and may answer before the call is over.
		if _, err := w.Call(ctx, r); err != nil && err.(*Error).Code != CodeCancelled {
			t.Errorf("%v", err)
		}
		<-taken
	})
}

// TestQuestionsReachTheirOwnCalls: with many calls of two sessions in flight, every person
// gets the questions of his own calls or none: over HTTP his own, over pipes none.
func TestQuestionsReachTheirOwnCalls(t *testing.T) {
	t.Parallel()
	askingWorlds(t, func(t *testing.T, w *world) {
		// A call of a third session is in flight all the time.
		file := t.TempDir() + "/running"
		ctx, cancel := context.WithCancel(t.Context())
		var other, all sync.WaitGroup
		other.Go(func() {
			r := Request{Server: "ask", Tool: "wait", Input: json.RawMessage(fmt.Sprintf(`{"text":%q}`, file)), Session: codemode.Session{SessionID: "third"}}
			if _, err := w.Call(ctx, r); ctx.Err() == nil {
				t.Errorf("the call of the third session ended: %v", err)
			}
		})
		waitForFile(t, file, "running")
		overHTTP := strings.HasSuffix(t.Name(), "http")
		for i := range 20 {
			all.Go(func() {
				r := askRequest("ask", fmt.Sprint("question ", i), 0)
				r.Session.SessionID = fmt.Sprint("s", i%2)
				r.Ask = func(ctx context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
					if want := fmt.Sprint("question ", i); q.Message != want || !overHTTP {
						t.Errorf("the person of %q is asked %q", want, q.Message)
					}
					return asker(t, nil)(ctx, q)
				}
				want := `"action":"decline"`
				if overHTTP {
					want = fmt.Sprintf(`"word":"re question %d"`, i)
				}
				if raw, err := w.Call(t.Context(), r); err != nil || !strings.Contains(string(raw), want) {
					t.Errorf("%s, %v", raw, err)
				}
			})
		}
		all.Wait()
		cancel()
		other.Wait()
		waitForFile(t, file, "cancelled") // it is the last thing that is written there
	})
}

// TestWhoseQuestionItIs: a question without a stream belongs to the calls of one session, or
// to no call.
func TestWhoseQuestionItIs(t *testing.T) {
	t.Parallel()
	flightOf := func(session string) *flight { return &flight{caller: codemode.Session{SessionID: session}} }
	a, a2, b, anonymous := flightOf("a"), flightOf("a"), flightOf("b"), flightOf("")
	question, other := &sdk.ElicitParams{Message: "q"}, &sdk.ElicitParams{Message: "other"}
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		open, carried []*flight
		ask           *sdk.ElicitParams
		want          []*flight // any of them; nil is no call
	}{
		"no call":                 {nil, nil, question, nil},
		"the only call":           {[]*flight{anonymous}, nil, question, []*flight{anonymous}},
		"one session":             {[]*flight{a, a2}, nil, question, []*flight{a, a2}},
		"two sessions":            {[]*flight{a, b}, nil, question, nil},
		"two without a name":      {[]*flight{anonymous, flightOf("")}, nil, question, nil},
		"its stream":              {[]*flight{a, b}, []*flight{b}, question, []*flight{b}},
		"another question":        {[]*flight{a, b}, []*flight{b}, other, nil},
		"the same on two streams": {[]*flight{a, b}, []*flight{a, b}, question, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &flights{}
			for _, f := range c.open {
				s.add(f)
			}
			for _, f := range c.carried {
				s.carried(f, text)
			}
			if got := s.owner(c.ask); got != nil && !slices.Contains(c.want, got) || got == nil && c.want != nil {
				t.Errorf("got %+v", got)
			}
			for _, f := range c.open {
				s.remove(f)
			}
			if len(s.open)+len(s.owners) > 0 {
				t.Errorf("left: %v, %v", s.open, s.owners)
			}
		})
	}
}
