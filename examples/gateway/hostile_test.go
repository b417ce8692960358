package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
)

// stub answers every request with the same bytes, as a stream of events.
type stub struct{ body []byte }

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(s.body)),
		Header: http.Header{"Content-Type": {"text/event-stream"}},
	}, nil
}

// through returns a provider that sends its requests through a transport.
func through(p modeltools.Provider, base string, transport http.RoundTripper) provider {
	client := &http.Client{Transport: transport}
	if p == modeltools.ProviderAnthropic {
		return messages{anthropic.NewClient(anthropicoption.WithHTTPClient(client), anthropicoption.WithAPIKey("x"), anthropicoption.WithMaxRetries(0), anthropicoption.WithBaseURL(base))}
	}
	made := openai.NewClient(option.WithHTTPClient(client), option.WithAPIKey("x"), option.WithMaxRetries(0), option.WithBaseURL(base+"/v1"))
	if p == modeltools.ProviderOpenAI {
		return chatCompletions{made}
	}
	return openAIResponses{made}
}

// askOnce sends one request to a provider, and returns what came with its text.
func askOnce(t *testing.T, p provider) (*reply, string, error) {
	t.Helper()
	items, err := encoded(p.said("Hello?"))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := modeltools.Render(p.kind(), []catalog.Tool{onCall})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r, err := ask(t.Context(), p, request{
		model: "m", instructions: "i", tools: tools, items: items, verify: func([]byte) error { return nil },
	}, func(part string) { text.WriteString(part) })
	return r, text.String(), err
}

// recording keeps what a response had in its body.
type recording struct{ body bytes.Buffer }

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, &r.body), resp.Body}
	}
	return resp, err
}

// recorded is what the scripted model sends for a text and two calls.
func recorded(t *testing.T, p modeltools.Provider) []byte {
	t.Helper()
	e := &scripted.Endpoint{Key: "x", Tools: []string{onCall.Name}, Script: []scripted.Turn{func(scripted.Conversation) (scripted.Reply, error) {
		return scripted.Reply{Text: "A text that is sent in parts.", Calls: []scripted.Call{{Name: "exec", Arguments: `{"code":"return 1"}`}, {Name: "wait", Arguments: `{}`}}}, nil
	}}}
	server := httptest.NewServer(e)
	defer server.Close()
	var all recording
	r, text, err := askOnce(t, through(p, server.URL, &all))
	if err != nil || text != "A text that is sent in parts." || len(r.calls) != 2 || r.calls[1].Name != "wait" || r.calls[0].Arguments != `{"code":"return 1"}` {
		t.Fatalf("it said %q and called %+v, %v", text, r, err)
	}
	return all.body.Bytes()
}

// TestHostileReplies: whatever an endpoint makes of its events, the gateway gets a reply
// that it can answer, or an error.
func TestHostileReplies(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			good := recorded(t, p)
			events := strings.SplitAfter(string(good), "\n\n")
			replies, failures := 0, 0
			for name, body := range changed(events) {
				r, _, err := askOnce(t, through(p, "http://model.example.com", &stub{[]byte(body)}))
				switch {
				case err != nil:
					failures++
				case r.check() != nil:
					t.Errorf("%s: the reply %+v", name, r)
				default:
					replies++
				}
			}
			if replies == 0 || failures == 0 {
				t.Errorf("%d replies, %d failures", replies, failures)
			}
		})
	}
}

// changed are the ways in which events can go wrong.
func changed(events []string) map[string]string {
	out := map[string]string{}
	for i, e := range events {
		before, after := strings.Join(events[:i], ""), strings.Join(events[i+1:], "")
		out[fmt.Sprint("without ", i)] = before + after
		out[fmt.Sprint("twice ", i)] = before + e + e + after
		out[fmt.Sprint("ends after ", i)] = before + e
		out[fmt.Sprint("starts at ", i)] = e + after
		out[fmt.Sprint("half of ", i)] = before + e[:len(e)/2]
		out[fmt.Sprint("half of, and on ", i)] = before + e[:len(e)/2] + "\n\n" + after
		out[fmt.Sprint("at the end ", i)] = before + after + e
		for _, change := range [][2]string{
			{`index":0`, `index":7`}, {`index":1`, `index":-1`}, {`index":0`, `index":"x"`}, {`"id":"call`, `"id":["call`}, {`"name":"exec"`, `"name":""`},
			{`"name":"exec"`, `"name":null`}, {`call_1_1`, `call_1_2`}, {`{`, `[`}, {`data: {`, `data: null{`}, {`"delta":{`, `"delta":null,"x":{`}, {`"output":[`, `"output":[null,`},
		} {
			if c := strings.Replace(e, change[0], change[1], 1); c != e {
				out[fmt.Sprintf("%s in %d", change[1], i)] = before + c + after
			}
		}
	}
	return out
}

// TestTooMuch: an endpoint that never stops is given up.
func TestTooMuch(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			part := `data: {"x":"` + strings.Repeat("x", 32<<10) + "\"}\n\n"
			body := bytes.Repeat([]byte(part), maxReplyBytes/len(part)+1)
			_, _, err := askOnce(t, through(p, "http://model.example.com", &stub{body}))
			var large *http.MaxBytesError
			if err == nil || p != modeltools.ProviderAnthropic && !errors.As(err, &large) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestTextComesInParts: what a person sees of an answer that is cut off is not kept.
func TestTextComesInParts(t *testing.T) {
	after := map[modeltools.Provider]int{modeltools.ProviderOpenAI: 2, modeltools.ProviderResponses: 5, modeltools.ProviderAnthropic: 4}
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			e := &scripted.Endpoint{Faults: map[int]scripted.Fault{1: {CutAfter: after[p]}}, Script: []scripted.Turn{func(scripted.Conversation) (scripted.Reply, error) {
				return scripted.Reply{Text: "A text that is sent in parts."}, nil
			}}}
			g := start(t, options{provider: p, baseURL: endpoint(t, e)(p)})
			c := fresh(t, g)
			h, err := converse(t, g, c, "Hello?")
			if err == nil || h.text != "A text that is sent in p" || len(c.Items) != 1 {
				t.Errorf("it said %q, %v; %d items", h.text, err, len(c.Items))
			}
		})
	}
}
