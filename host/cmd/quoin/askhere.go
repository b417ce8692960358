package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

// asker puts what a run waits for to the person who has started it on a terminal.
type asker struct {
	in    *bufio.Reader
	cmd   *cobra.Command
	calls *output.Calls // on the screen; nil if they are not shown
	decisions
}

// asker returns nil unless a person reads the result of a command and can type answers.
func (o *options) asker(cmd *cobra.Command, d decisions) *asker {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !output.IsTerminal(in) || !output.IsTerminal(cmd.ErrOrStderr()) || !o.show.ForPeople(cmd) {
		return nil
	}
	return &asker{in: bufio.NewReader(in), cmd: cmd, decisions: d}
}

// errLeft means that the person leaves a question for later.
var errLeft = errors.New("left for later")

// askAll asks about everything that a run waits for. It reports whether the run can go on.
func (a *asker) askAll(runID string) bool {
	list, err := a.Approvals(a.cmd.Context(), policy.Filter{RunID: runID})
	for _, p := range list {
		if err == nil {
			err = a.askOne(p)
		}
	}
	if err != nil && !errors.Is(err, errLeft) {
		a.say("quoin: %v\n", err)
	}
	return err == nil
}

// askOne asks until one approval is decided, by this person or meanwhile by another.
func (a *asker) askOne(p *policy.Approval) error {
	if err := a.describe(p); err != nil {
		return err
	}
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

// describe shows what is to be decided, with the whole input: nothing is hidden from who
// says yes.
func (a *asker) describe(p *policy.Approval) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			terminal.Fprintf(&b, "  %-11s %s\n", name, value)
		}
	}
	terminal.Fprintf(&b, "\n%s\n", terminal.Line(p.Title))
	for text := range strings.Lines(p.Description) {
		terminal.Fprintf(&b, "  %s\n", terminal.Line(strings.TrimSuffix(text, "\n")))
	}
	line("tool", terminal.Line(p.ToolID))
	line("severity", string(p.Severity))
	line("expires", p.Expires.Local().Format("2006-01-02 15:04:05"))
	line("always", terminal.Line(p.AlwaysCovers))
	showQuestions(line, p)
	if p.InputCut {
		terminal.Fprintf(&b, "ONLY THE START of the input is here: it has %d bytes.\n", p.InputBytes)
	}
	showDocument(&b, p.Input)
	_, err := io.WriteString(a.cmd.ErrOrStderr(), b.String())
	return err
}

// choice is what a person can type, by its first letter.
type choice struct {
	key, label string
	take       func(p *policy.Approval) error
}

// choices are those that an approval leaves.
func (a *asker) choices(p *policy.Approval) (list []choice) {
	decide := func(d policy.Decision) func(*policy.Approval) error {
		return func(p *policy.Approval) error {
			_, err := a.Decide(a.cmd.Context(), p.ID, d, decider())
			return err
		}
	}
	if len(p.Questions) > 0 {
		list = append(list,
			choice{"a", "[a]ccept", func(p *policy.Approval) error { return a.answer(p, answerFlags{accept: true}) }},
			choice{"d", "[d]ecline", func(p *policy.Approval) error { return a.answer(p, answerFlags{decline: true}) }})
	}
	if slices.Contains(p.Allowed, policy.AllowOnce) {
		list = append(list, choice{"a", "[a]llow once", decide(policy.AllowOnce)})
	}
	if slices.Contains(p.Allowed, policy.AllowAlways) {
		list = append(list, choice{"A", "[A]lways allow", decide(policy.AllowAlways)})
	}
	if slices.Contains(p.Allowed, policy.Deny) {
		list = append(list, choice{"d", "[d]eny", decide(policy.Deny)})
	}
	if slices.Contains(p.Allowed, policy.AllowOnce) && len(p.InputSchema) > 0 && !p.InputCut {
		list = append(list, choice{"e", "[e]dit", a.edit})
	}
	return append(list, choice{"w", "[w]ait", func(*policy.Approval) error { return errLeft }})
}

// askOnce asks once, and does what is answered.
func (a *asker) askOnce(p *policy.Approval) error {
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
		if strings.HasPrefix(typed, c.key) {
			return c.take(p)
		}
	}
	return errors.New("type the letter in brackets")
}

// line reads a line. A person who ends the input, or interrupts the command, leaves the
// question for later.
func (a *asker) line(prompt string) (string, error) {
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

func (a *asker) say(format string, args ...any) {
	terminal.Fprintf(a.cmd.ErrOrStderr(), format, args...)
}

// answer answers what a tool asks, with the fields that the person types.
func (a *asker) answer(p *policy.Approval, given answerFlags) error {
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
		_, err = a.AnswerQuestion(a.cmd.Context(), p.ID, answers, decider())
	}
	return err
}

// edit has the call be made with another input, which the person writes in the editor of
// their choice if there is one.
func (a *asker) edit(p *policy.Approval) error {
	input, err := a.edited(p)
	if err == nil {
		_, err = a.AllowEdited(a.cmd.Context(), p.ID, input, decider())
	}
	return err
}

func (a *asker) edited(p *policy.Approval) (json.RawMessage, error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		text, err := a.line("the input as JSON, or @FILE: ")
		if err != nil {
			return nil, err
		}
		return jsonFlag("the input", text)
	}
	f, err := os.CreateTemp("", "quoin-input-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	before := indented(p.Input) + "\n"
	_, err = f.WriteString(before)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	words := append(strings.Fields(editor), f.Name())
	run := osexec.CommandContext(a.cmd.Context(), words[0], words[1:]...)
	run.Stdin, run.Stdout, run.Stderr = a.cmd.InOrStdin(), a.cmd.ErrOrStderr(), a.cmd.ErrOrStderr()
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", editor, err)
	}
	if after, err := os.ReadFile(f.Name()); err != nil || string(after) == before {
		return nil, cmp.Or(err, errors.New("the input is as it was, and nothing is decided"))
	}
	return jsonFlag("the input", "@"+f.Name())
}
