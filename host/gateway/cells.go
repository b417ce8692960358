package gateway

import (
	"context"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// exec runs a cell. A client that goes away aborts it: nobody else knows of the
// run, so that nobody could go on with it.
func (s *Server) exec(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	in, call := execInput(f), f.text("toolCallId")
	if p := f.problem(); p != nil {
		return p
	}
	return s.ok(w, s.host.Exec(host.WithToolCallID(r.Context(), call), session, in))
}

func execInput(f *fields) host.ExecInput {
	in := host.ExecInput{
		Code:     f.text("code"),
		Command:  f.text("command"),
		Language: f.text("language"),
		Title:    f.text("title"),
		Timeout:  f.millis("timeoutMs"),
	}
	f.objects("tools", func(f *fields) { in.Tools = append(in.Tools, clientTool(f)) })
	f.object("rules", func(f *fields) { in.Rules = policy.Rules{Allow: f.texts("allow"), Deny: f.texts("deny")} })
	return in
}

// clientTool is a tool of the caller's, who answers its calls between exec and
// wait.
func clientTool(f *fields) catalog.Tool {
	t := catalog.Tool{
		Name:        f.required("name", "the tool's name"),
		Label:       f.text("label"),
		Description: f.text("description"),
		Owner:       f.text("owner"),
		Parameters:  f.raw("parameters"),
		Output:      f.raw("output"),
		ReadOnly:    f.flag("readOnly"),
		Idempotent:  f.flag("idempotent"),
	}
	f.objects("examples", func(f *fields) {
		t.Examples = append(t.Examples, catalog.Example{Description: f.text("description"), Input: f.raw("input"), Output: f.raw("output")})
	})
	return t
}

// wait goes on with a run. A client that goes away does not harm the run: its
// result is kept for the next wait of the session.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	id, timeout := f.required("runId", "the runId of a waiting result"), f.millis("timeoutMs")
	call := f.text("toolCallId")
	if p := f.problem(); p != nil {
		return p
	}
	alone := s.waits.deliver(r.Context(), waiter{session, id}, func(ctx context.Context) *host.Delivery {
		return s.host.Deliver(host.WithToolCallID(ctx, call), session, id, timeout)
	}, func(res *host.Result) bool {
		return s.writeJSON(w, http.StatusOK, "application/json", res)
	})
	if !alone {
		return s.ok(w, s.host.Refused(errBusy))
	}
	return nil
}

// errBusy is what the host, too, says of a second wait at once.
var errBusy = &host.Error{Code: host.CodeInvalidInput, Reason: host.ReasonRunBusy, Phase: host.PhaseInput, Message: "code mode run is already being resumed."}

// abort ends a run.
func (s *Server) abort(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	id := f.required("runId", "the runId of a waiting result")
	if p := f.problem(); p != nil {
		return p
	}
	return s.ok(w, s.host.Abort(context.WithoutCancel(r.Context()), session, id))
}
