package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// exec runs a cell. A client that goes away aborts it: only that client would have learned the
// id of the run, so no other could resume it.
func (h cellHandlers) exec(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	in, call, compact := h.execInput(f), f.text("toolCallId"), f.flag("compact")
	if p := f.problem(); p != nil {
		return p
	}
	res := h.host.Exec(host.WithToolCallID(r.Context(), call), session, in)
	h.writeResult(w, r, session, res, compact)
	return nil
}

// writeResult answers with a result: the full one, or what a model is to be shown of it.
// It reports whether the client may have got it.
func (h cellHandlers) writeResult(w http.ResponseWriter, r *http.Request, session Session, res *host.Result, compact bool) bool {
	if !compact {
		return h.writeJSON(w, http.StatusOK, "application/json", res)
	}
	shown, err := h.host.RenderResult(context.WithoutCancel(r.Context()), session, res)
	if err != nil {
		h.log.Error("what waits for a person cannot be listed: a model is not told of it", "run", res.RunID, "error", err)
		return h.writeJSON(w, http.StatusOK, "application/json", res)
	}
	return h.writeJSON(w, http.StatusOK, "application/json", shown)
}

// execInput reads the members of a body of POST /v1/exec.
func (h cellHandlers) execInput(f *fields) host.ExecInput {
	in := host.ExecInput{
		Code:     f.text("code"),
		Command:  f.text("command"),
		Language: f.text("language"),
		Title:    f.text("title"),
		Timeout:  f.millis("timeoutMs"),
		Wait:     h.waitOf(f),
	}
	f.objects("tools", func(f *fields) { in.Tools = append(in.Tools, clientTool(f)) })
	f.object("rules", func(f *fields) { in.Rules = policy.Rules{Allow: f.texts("allow"), Deny: f.texts("deny")} })
	return in
}

// waitOf returns how long the caller is willing to wait.
func (h *handlers) waitOf(f *fields) time.Duration {
	if wait := f.millis("waitMs"); wait > 0 {
		return wait
	}
	return h.options.times.wait
}

// clientTool reads a tool of the caller's. The caller answers its calls between
// exec and wait.
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

// wait resumes a run. A client that goes away does not harm the run: its result is kept for
// the next wait of the session.
func (h cellHandlers) wait(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	id, wait := f.required("runId", "the runId of a waiting result"), h.waitOf(f)
	call, compact := f.text("toolCallId"), f.flag("compact")
	if p := f.problem(); p != nil {
		return p
	}
	free := h.waits.do(r.Context(), waitKey{session, id}, wait, func(ctx context.Context) *host.Delivery {
		return h.host.Deliver(host.WithToolCallID(ctx, call), session, id, wait)
	}, func(res *host.Result) bool {
		return h.writeResult(w, r, session, res, compact)
	})
	if !free {
		h.writeResult(w, r, session, codemode.Failed(errRunBusy), compact)
	}
	return nil
}

// errRunBusy is the error of a second wait at the same time. The host has the same.
var errRunBusy = &host.Error{Code: codemode.CodeInvalidInput, Reason: codemode.ReasonRunBusy, Phase: codemode.PhaseInput, Message: "code mode run is already being resumed."}

// abort ends a run.
func (h cellHandlers) abort(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	id := f.required("runId", "the runId of a waiting result")
	if p := f.problem(); p != nil {
		return p
	}
	return h.ok(w, h.host.Abort(context.WithoutCancel(r.Context()), session, id))
}

// answered is the answer to POST /v1/answers.
type answered struct {
	Status string `json:"status"` // answered
}

// answerCall enters the caller's answer to a call of one of its own tools.
func (h cellHandlers) answerCall(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	run := f.required("runId", "the runId of a waiting result")
	call := f.required("callId", "the id of a pending call that has an input")
	a := host.ToolAnswer{Value: f.raw("value"), Error: f.text("error")}
	if a.Value != nil && f.raw("error") != nil {
		f.fail("error", "both it and value are given", "one of them")
	}
	if f.raw("error") != nil && a.Error == "" {
		f.fail("error", "it is empty", "what went wrong")
	}
	if p := f.problem(); p != nil {
		return p
	}
	if a.Value == nil {
		a.Value = json.RawMessage("null")
	}
	if err := h.host.Answer(r.Context(), session, run, call, a); err != nil {
		return problemFrom(err)
	}
	return h.ok(w, answered{"answered"})
}

// PendingInput is the answer to GET /v1/calls/{id}.
type PendingInput struct {
	ID string `json:"id"`
	// Input is the whole input, however long. The result of a waiting run has the
	// inputs that are short.
	Input json.RawMessage `json:"input"`
}

// pendingInput returns the whole input of a call that the caller is to answer. A
// waiting result has short inputs only.
func (h cellHandlers) pendingInput(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("id")
	input, err := h.host.PendingInput(r.Context(), session, r.URL.Query().Get("run"), id)
	if err != nil {
		return problemFrom(err)
	}
	return h.ok(w, PendingInput{id, input})
}
