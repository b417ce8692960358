package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

const maxBody = 1 << 20

// api serves conversations over HTTP. Messages, answers and continue respond with events
// as they happen, as server-sent events; the work continues when the reader has left.
func (g *gateway) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/conversations/{id}/messages", g.postMessage)
	mux.HandleFunc("POST /v1/conversations/{id}/answers", g.postAnswer)
	mux.HandleFunc("POST /v1/conversations/{id}/continue", g.postContinue)
	mux.HandleFunc("GET /v1/conversations/{id}", g.getConversation)
	mux.HandleFunc("DELETE /v1/conversations/{id}", g.deleteConversation)
	return http.NewCrossOriginProtection().Handler(localOnly(mux))
}

// localOnly refuses requests for another host than this machine: a page in a browser can
// have a name of its own lead here.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			fail(w, http.StatusForbidden, fmt.Errorf("the host is %q, expected localhost", r.Host))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// postMessage takes {"text"}.
func (g *gateway) postMessage(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Text == "" {
		fail(w, http.StatusBadRequest, errors.New(`the body has to be {"text": "..."}`))
		return
	}
	g.respond(w, r, func(_ context.Context, c *conversation) error { return g.say(c, in.Text) })
}

// postAnswer takes {"question", "decision"}, or {"question", "answers"} where a tool asks.
func (g *gateway) postAnswer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Question string                         `json:"question"`
		Decision policy.Decision                `json:"decision"`
		Answers  map[string]host.QuestionAnswer `json:"answers"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Question == "" {
		fail(w, http.StatusBadRequest, errors.New(`the body has to be {"question": "its id", "decision": "allow-once"}`))
		return
	}
	g.respond(w, r, func(ctx context.Context, c *conversation) error {
		if _, err := g.approval(ctx, c, in.Question); err != nil {
			return err
		}
		var err error
		if len(in.Answers) > 0 {
			_, err = g.host.Approvals().Answer(ctx, in.Question, in.Answers, "the API")
		} else {
			_, err = g.host.Approvals().Decide(ctx, in.Question, in.Decision, "the API")
		}
		return err
	})
}

func (g *gateway) postContinue(w http.ResponseWriter, r *http.Request) {
	g.respond(w, r, func(context.Context, *conversation) error { return nil })
}

// respond changes a conversation, advances it, and streams what happens.
func (g *gateway) respond(w http.ResponseWriter, r *http.Request, change func(context.Context, *conversation) error) {
	id := r.PathValue("id")
	release, err := g.conversations.hold(id)
	if err != nil {
		fail(w, statusOfError(err), err)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // a program does not end because its reader left
	c, err := g.conversation(id)
	if err == nil {
		err = change(ctx, c)
	}
	if err != nil {
		release()
		fail(w, statusOfError(err), err)
		return
	}
	defer release()
	s := &stream{w: w, flush: http.NewResponseController(w)}
	defer g.watch(id, s.tell)()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	asked, err := g.advance(ctx, c, s.tell)
	for _, a := range asked {
		s.tell(event{Kind: eventQuestion, Question: questionOf(a)})
	}
	switch {
	case err != nil:
		s.tell(event{Kind: eventError, Text: err.Error()})
	case len(asked) == 0:
		s.tell(event{Kind: eventDone})
	}
}

// stream writes events for as long as someone reads them.
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush *http.ResponseController
	gone  bool
}

func (s *stream) tell(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return
	}
	b, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintf(s.w, "data: %s\n\n", b)
	}
	s.gone = errors.Join(err, s.flush.Flush()) != nil
}

// getConversation says what a conversation is waiting for.
func (g *gateway) getConversation(w http.ResponseWriter, r *http.Request) {
	c, err := g.conversations.load(r.PathValue("id"))
	if err != nil {
		fail(w, statusOfError(err), err)
		return
	}
	session := c.session("")
	list, err := g.host.Approvals().List(r.Context(), policy.Filter{Session: &session})
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	questions := []*question{}
	for _, a := range list {
		questions = append(questions, questionOf(a))
	}
	writeJSON(w, http.StatusOK, struct {
		ID        string              `json:"id"`
		Provider  modeltools.Provider `json:"provider"`
		Items     []json.RawMessage   `json:"items"`
		Open      bool                `json:"open"` // continue would do something
		Questions []*question         `json:"questions"`
	}{c.ID, c.Provider, c.Items, c.ModelsTurn || len(c.Calls) > 0, questions})
}

func (g *gateway) deleteConversation(w http.ResponseWriter, r *http.Request) {
	if err := g.forget(r.Context(), r.PathValue("id")); err != nil {
		fail(w, statusOfError(err), err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func statusOfError(err error) int {
	switch {
	case errors.Is(err, errUnknown), errors.Is(err, policy.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, errConversation), errors.Is(err, policy.ErrNotAllowed), errors.Is(err, policy.ErrInvalidAnswer):
		return http.StatusBadRequest
	}
	return http.StatusConflict
}

func fail(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}
