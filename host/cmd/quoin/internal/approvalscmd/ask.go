package approvalscmd

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

// Asker puts what a run waits for to the person who has started it on a terminal.
type Asker struct {
	in  *bufio.Reader
	cmd *cobra.Command
	Decisions
}

// NewAsker returns nil unless a person can be asked and can type answers. The caller knows that
// a person reads the result of the command.
func NewAsker(cmd *cobra.Command, d Decisions) *Asker {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !output.IsTerminal(in) || !output.IsTerminal(cmd.ErrOrStderr()) {
		return nil
	}
	return &Asker{bufio.NewReader(in), cmd, d}
}

// errLeft means that the person leaves a question for later.
var errLeft = errors.New("left for later")

// AskAll asks about everything that a run waits for. It reports whether the run can continue.
func (a *Asker) AskAll(runID string) bool {
	list, err := a.Approvals(a.cmd.Context(), policy.Filter{RunID: runID})
	for i := 0; i < len(list) && err == nil; i++ {
		if err = showApproval(a.cmd.ErrOrStderr(), list[i], true); err == nil {
			err = a.askOne(list[i])
		}
	}
	if err != nil && !errors.Is(err, errLeft) {
		a.say("quoin: %v\n", err)
	}
	return err == nil
}

// askOne asks until one approval is decided, by this person or by another.
func (a *Asker) askOne(p *policy.Approval) error {
	for {
		err := a.askOnce(p)
		switch {
		case errors.Is(err, policy.ErrDecided), errors.Is(err, policy.ErrExpired), errors.Is(err, policy.ErrCancelled):
			a.say("quoin: %v\n", err)
			return nil
		case err == nil, errors.Is(err, errLeft), errors.Is(err, policy.ErrNotFound):
			return err
		}
		a.say("%v\n", err)
	}
}

// choice is what a person can type, by the letter in brackets.
type choice struct {
	label string
	take  func() error
}

// choices are those that an approval leaves.
func (a *Asker) choices(p *policy.Approval) (list []choice) {
	if len(p.Questions) > 0 {
		list = append(list, choice{"[a]ccept", func() error { return a.answer(p, answerFlags{accept: true}) }},
			choice{"[d]ecline", func() error { return a.answer(p, answerFlags{decline: true}) }})
	}
	for _, d := range []struct {
		label string
		policy.Decision
	}{{"[a]llow once", policy.AllowOnce}, {"[A]lways allow", policy.AllowAlways}, {"[d]eny", policy.Deny}} {
		if slices.Contains(p.Allowed, d.Decision) {
			list = append(list, choice{d.label, func() error {
				_, err := a.Decide(a.cmd.Context(), p.ID, d.Decision, Decider())
				return err
			}})
		}
	}
	if slices.Contains(p.Allowed, policy.AllowOnce) && len(p.InputSchema) > 0 {
		list = append(list, choice{"[e]dit", func() error { return a.edit(p) }})
	}
	return append(list, choice{"[w]ait", func() error { return errLeft }})
}

// askOnce asks once, and does what is answered.
func (a *Asker) askOnce(p *policy.Approval) error {
	list := a.choices(p)
	labels := make([]string, 0, len(list))
	for _, c := range list {
		labels = append(labels, c.label)
	}
	typed, err := a.line(strings.Join(labels, ", ") + "? ")
	if err != nil {
		return err
	}
	for _, c := range list {
		if letter := c.label[1:2]; strings.HasPrefix(typed, letter) {
			return c.take()
		}
	}
	return errors.New("type the letter in brackets")
}

// line reads a line. A person who ends the input, or interrupts the command, leaves the
// question for later.
func (a *Asker) line(prompt string) (string, error) {
	a.say("%s", prompt)
	typed := make(chan string, 1)
	go func() {
		defer close(typed)
		if text, err := a.in.ReadString('\n'); err == nil {
			typed <- strings.TrimSpace(text)
		}
	}()
	select {
	case text, ok := <-typed:
		if ok {
			return text, nil
		}
	case <-a.cmd.Context().Done():
	}
	a.say("\n")
	return "", errLeft
}

func (a *Asker) say(format string, args ...any) {
	terminal.Fprintf(a.cmd.ErrOrStderr(), format, args...)
}

// answer answers what a tool asks, with the fields that the person types.
func (a *Asker) answer(p *policy.Approval, given answerFlags) error {
	asksForm := func(q codemode.Question) bool { return q.Kind == codemode.QuestionForm }
	for given.accept && slices.ContainsFunc(p.Questions, asksForm) {
		field, err := a.line("NAME=VALUE, or an empty line at the end: ")
		if err != nil {
			return err
		}
		if field == "" {
			break
		}
		given.fields = append(given.fields, field)
	}
	answers, err := given.read(p.Questions)
	if err == nil {
		_, err = a.AnswerQuestion(a.cmd.Context(), p.ID, answers, Decider())
	}
	return err
}

// edit has the call be made with another input, which the person types.
func (a *Asker) edit(p *policy.Approval) error {
	text, err := a.line("the input as JSON, or @FILE: ")
	if err != nil {
		return err
	}
	input, err := jsonFlag("the input", text)
	if err == nil {
		_, err = a.AllowEdited(a.cmd.Context(), p.ID, input, Decider())
	}
	return err
}
