package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// An inquiry is an approval that asks questions: a tool wants answers of a person in the
// middle of its call. People answer it; they do not decide about it.

// ErrInvalidAnswer means that an answer, or an edited input, does not fit what was asked.
var ErrInvalidAnswer = errors.New("answer does not fit what was asked")

// Limits of the questions of one call, and of their answers, in bytes where no unit is
// named.
const (
	maxQuestions  = 16 // questions
	maxQuestionID = 128
	maxMessage    = 8 << 10 // more is cut
	maxFormSchema = 64 << 10
	maxFormFields = 100 // fields
	maxURL        = 8 << 10
	maxContent    = 64 << 10
)

// NewInquiry makes the pending approval that puts the questions of a tool to a person.
// It fails if the questions are not fit to be put to one. A timeout of 0 is
// DefaultApprovalTimeout; it is clamped like the timeout of an ApprovalRequest.
func NewInquiry(c Call, questions []codemode.Question, timeout time.Duration, now time.Time) (*Approval, error) {
	if n := len(questions); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("there are %d questions, expected 1 to %d", n, maxQuestions)
	}
	asked, ids := make([]codemode.Question, 0, len(questions)), make(map[string]bool)
	for _, q := range questions {
		q, err := checkedQuestion(q)
		if err != nil {
			return nil, err
		}
		if ids[q.ID] {
			return nil, fmt.Errorf("two questions have the id %q", q.ID)
		}
		if q.Kind == codemode.QuestionAuthorization && len(questions) > 1 {
			return nil, errors.New("a question of the kind authorization is not asked alone")
		}
		ids[q.ID] = true
		asked = append(asked, q)
	}
	timeout = min(max(cmp.Or(timeout, DefaultApprovalTimeout), MinApprovalTimeout), MaxApprovalTimeout)
	a, err := newApproval(c, now, timeout)
	if err != nil {
		return nil, err
	}
	a.Severity, a.Questions, a.Asked, a.Allowed = SeverityWarning, asked, []Asked{}, []Decision{}
	from := cmp.Or(asked[0].From, c.ToolName)
	a.Title = text.Cut(from+" asks before "+plain(c.ToolName)+" can go on", maxTitle)
	if asked[0].Kind == codemode.QuestionAuthorization {
		a.Title = text.Cut("Sign in to "+from, maxTitle)
	}
	return a, nil
}

// checkedQuestion returns a question as people see it, or what is wrong with it.
func checkedQuestion(q codemode.Question) (codemode.Question, error) {
	if q.ID == "" || len(q.ID) > maxQuestionID || plain(q.ID) != q.ID {
		return q, fmt.Errorf("the id of a question is %q, expected 1 to %d bytes of text", text.Cut(q.ID, 64), maxQuestionID)
	}
	q.From, q.Message = text.Cut(plain(q.From), maxTitle), text.Cut(plain(q.Message), maxMessage)
	switch q.Kind {
	case codemode.QuestionForm:
		if q.URL != "" {
			return q, fmt.Errorf("the question %q is a form and has a URL", q.ID)
		}
		return q, checkForm(q)
	case codemode.QuestionURL, codemode.QuestionAuthorization:
		if len(q.Schema) > 0 {
			return q, fmt.Errorf("the question %q is about a URL and has the schema of a form", q.ID)
		}
		if q.URL == "" && q.Kind == codemode.QuestionAuthorization {
			return q, nil
		}
		err := checkURL(&q)
		return q, err
	}
	return q, fmt.Errorf("the question %q has the kind %q, expected form, url or authorization", q.ID, text.Cut(q.Kind, 64))
}

// checkURL checks that the URL of a question may be shown as a link. A host with other letters
// is shown as xn--…: it may look like another host.
func checkURL(q *codemode.Question) error {
	u, err := url.Parse(q.URL)
	if err != nil || len(q.URL) > maxURL || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" ||
		plain(q.URL) != q.URL || strings.ContainsAny(q.URL, " \n") {
		return fmt.Errorf("the URL of the question %q is no http or https address without a user name, of at most %d bytes", q.ID, maxURL)
	}
	ascii, err := idna.Punycode.ToASCII(u.Host)
	if err != nil || u.Host != ascii && !strings.Contains(q.URL, u.Host) {
		return fmt.Errorf("the URL of the question %q has a host that is no name", q.ID)
	}
	q.URL = strings.Replace(q.URL, u.Host, ascii, 1)
	return nil
}

// checkForm holds the schema of a form to an object with flat properties.
func checkForm(q codemode.Question) error {
	var form struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(q.Schema) > maxFormSchema || !utf8.Valid(q.Schema) || json.Unmarshal(q.Schema, &form) != nil || form.Type != "object" {
		return fmt.Errorf("the schema of the question %q is not that of an object, of at most %d bytes", q.ID, maxFormSchema)
	}
	if len(form.Properties) > maxFormFields {
		return fmt.Errorf("the form of the question %q has %d fields, at most %d fit", q.ID, len(form.Properties), maxFormFields)
	}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		if !isFlat(form.Properties[name]) {
			return fmt.Errorf("the field %q of the question %q is not flat: expected a string, number, integer, boolean or a choice", text.Cut(name, 64), q.ID)
		}
	}
	var bad *catalog.Error
	if err := catalog.CheckInput(q.Schema, json.RawMessage("{}")); errors.As(err, &bad) && bad.Code == catalog.InvalidSchema {
		return fmt.Errorf("the schema of the question %q cannot be used: %w", q.ID, err)
	}
	return nil
}

// isFlat reports whether a field of a form holds a single value, or choices.
func isFlat(field json.RawMessage) bool {
	var f struct {
		Type  string          `json:"type"`
		Enum  json.RawMessage `json:"enum"`
		OneOf json.RawMessage `json:"oneOf"`
		Items struct {
			Enum  json.RawMessage `json:"enum"`
			AnyOf json.RawMessage `json:"anyOf"`
			OneOf json.RawMessage `json:"oneOf"`
		} `json:"items"`
	}
	if json.Unmarshal(field, &f) != nil {
		return false
	}
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		return len(f.Items.Enum)+len(f.Items.AnyOf)+len(f.Items.OneOf) > 0
	}
	return f.Type == "" && len(f.Enum)+len(f.OneOf) > 0
}

// Answer enters what a person has answered to the questions of an approval, by question
// id; by names the person for the record. It returns the approval as it is then. The
// same answers again change nothing and are no error; others are ErrDecided.
// ErrNotFound, ErrExpired, ErrCancelled, ErrNotAllowed and ErrInvalidAnswer say why else
// answers do not count.
func Answer(ctx context.Context, store Approvals, id string, answers map[string]codemode.QuestionAnswer, by string, now time.Time) (*Approval, error) {
	a, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(a.Questions) == 0 {
		return a.shown(), fmt.Errorf("%w: the approval asks no questions, expected a decision", ErrNotAllowed)
	}
	if err := a.CheckAnswers(answers); err != nil {
		return a.shown(), err
	}
	if a, err = resolve(ctx, store, a, Resolution{State: StateAnswered, Answers: answers, By: text.Cut(plain(by), maxBy), At: now}); err != nil {
		return nil, err
	}
	switch {
	case a.State == StateExpired:
		err = ErrExpired
	case a.State == StateCancelled:
		err = ErrCancelled
	case !equalAnswers(a.Answers, answers):
		err = fmt.Errorf("%w: other answers came first, by %q", ErrDecided, a.By)
	}
	return a.shown(), err
}

// equalAnswers reports whether two people have answered alike.
func equalAnswers(a, b map[string]codemode.QuestionAnswer) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

// CheckAnswers says what is wrong with answers to the questions of the approval. The
// error is ErrInvalidAnswer.
func (a *Approval) CheckAnswers(answers map[string]codemode.QuestionAnswer) error {
	for _, q := range a.Questions {
		answer, ok := answers[q.ID]
		if !ok {
			return fmt.Errorf("%w: the question %q has no answer", ErrInvalidAnswer, q.ID)
		}
		if err := checkAnswer(q, answer); err != nil {
			return fmt.Errorf("%w: the question %q: %w", ErrInvalidAnswer, q.ID, err)
		}
	}
	if len(answers) == len(a.Questions) {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		if !slices.ContainsFunc(a.Questions, func(q codemode.Question) bool { return q.ID == id }) {
			return fmt.Errorf("%w: there is no question %q", ErrInvalidAnswer, text.Cut(id, 64))
		}
	}
	return nil
}

// checkAnswer says what is wrong with the answer to one question.
func checkAnswer(q codemode.Question, answer codemode.QuestionAnswer) error {
	form := q.Kind == codemode.QuestionForm && answer.Action == codemode.AnswerAccept
	switch {
	case answer.Action != codemode.AnswerAccept && answer.Action != codemode.AnswerDecline && answer.Action != codemode.AnswerCancel:
		return fmt.Errorf("the action is %q, expected accept, decline or cancel", text.Cut(answer.Action, 64))
	case !form && len(answer.Content) > 0:
		return errors.New("there is content, which only the accepted answer to a form has")
	case len(answer.Content) > maxContent:
		return fmt.Errorf("the content has %d bytes, at most %d fit", len(answer.Content), maxContent)
	case !form:
		return nil
	case len(answer.Content) == 0:
		return errors.New("there is no content, expected an object with the fields of the form")
	case !utf8.Valid(answer.Content):
		return errors.New("the content is not JSON in UTF-8")
	}
	return catalog.CheckInput(q.Schema, answer.Content)
}

// AnswerAuthorization accepts every pending question of kind authorization that a
// server asks, for sessions that owns reports to be concerned; nil is all. Call it once
// the sign-in has succeeded: the calls that wait for it are made again. It returns how
// many approvals it has answered.
func AnswerAuthorization(ctx context.Context, store Approvals, server string, owns func(codemode.Session) bool, by string, now time.Time) (answered int, err error) {
	list, err := Select(ctx, store, Filter{}, now)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, a := range list {
		if !a.asksToSignIn(server) || owns != nil && !owns(a.Session) {
			continue
		}
		_, err := Answer(ctx, store, a.ID, map[string]codemode.QuestionAnswer{a.Questions[0].ID: {Action: codemode.AnswerAccept}}, by, now)
		switch {
		case err == nil:
			answered++
		case errors.Is(err, ErrDecided), errors.Is(err, ErrExpired), errors.Is(err, ErrCancelled), errors.Is(err, ErrNotFound): // another was first
		default:
			errs = append(errs, err)
		}
	}
	return answered, errors.Join(errs...)
}

// asksToSignIn reports whether the approval waits for a sign-in to the server.
func (a *Approval) asksToSignIn(server string) bool {
	return len(a.Questions) == 1 && a.Questions[0].Kind == codemode.QuestionAuthorization && a.Questions[0].From == server
}

// shown returns the approval as those see it who decide: what others filled in stays with
// the call that it was asked for.
func (a *Approval) shown() *Approval {
	if a.Answers == nil {
		return a
	}
	c := *a
	c.Answers = make(map[string]codemode.QuestionAnswer, len(a.Answers))
	for id, answer := range a.Answers {
		c.Answers[id] = codemode.QuestionAnswer{Action: answer.Action}
	}
	return &c
}
