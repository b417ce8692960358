package approvalscmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

// answerFlags are what a person answers to the questions of one approval.
type answerFlags struct {
	accept, decline, cancel bool
	fields                  []string
	content, answers        string
}

func newApprovalsAnswer() *cobra.Command {
	var a approver
	var given answerFlags
	cmd := &cobra.Command{
		Use:   "answer ID",
		Short: "Answer what a tool asks in the middle of its call",
		Long: `Answer the questions of a call that waits for them. quoin approvals show says what
is asked, and by which fields a form is filled in. Declining a sign-in rejects the
call; any other answer goes to the tool that asks.`,
		Example: `  quoin approvals answer apr_0123456789abcdef0123456789abcdef --accept --field size=M
  quoin approvals answer apr_0123456789abcdef0123456789abcdef --accept --content '{"size":"M"}'
  quoin approvals answer apr_0123456789abcdef0123456789abcdef --accept --content @form.json
  quoin approvals answer apr_0123456789abcdef0123456789abcdef --decline
  quoin approvals answer apr_0123456789abcdef0123456789abcdef --answers '{"a":{"action":"accept","content":{}},"b":{"action":"decline"}}'`,
		Args: cli.OneArg("ID", "which quoin approvals list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := given.check(); err != nil {
				return err
			}
			return a.with(cmd, func(s decisions) error {
				asked, err := a.find(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				answers, err := given.read(asked.Questions)
				if err != nil {
					return err
				}
				got, err := s.AnswerQuestion(cmd.Context(), asked.ID, answers, Decider())
				switch {
				case err != nil:
					return err
				case a.JSON:
					return output.PrintJSON(cmd.OutOrStdout(), got)
				}
				return a.printDecision(cmd, got)
			})
		},
	}
	a.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(a.pending)
	f := cmd.Flags()
	f.BoolVar(&given.accept, "accept", false, "the form is filled in, or the address was visited")
	f.BoolVar(&given.decline, "decline", false, "say no to every question")
	f.BoolVar(&given.cancel, "cancel", false, "make no choice")
	f.StringArrayVar(&given.fields, "field", nil, "NAME=VALUE: one field of the form, with --accept; repeat it for more, and for several choices of one field")
	f.StringVar(&given.content, "content", "", "the whole form as JSON, or @FILE, with --accept")
	f.StringVar(&given.answers, "answers", "", "all answers as JSON, or @FILE: an object with an action, and a content, for each question")
	return cmd
}

// check holds the flags against each other.
func (g *answerFlags) check() error {
	chosen := 0
	for _, is := range []bool{g.accept, g.decline, g.cancel, g.answers != ""} {
		if is {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return cli.Usagef("expected one of --accept, --decline, --cancel and --answers")
	case !g.accept && (len(g.fields) > 0 || g.content != ""):
		return cli.Usagef("--field and --content fill in a form: expected --accept with them")
	case len(g.fields) > 0 && g.content != "":
		return cli.Usagef("expected --field or --content, not both")
	}
	return nil
}

// read makes the answers to the questions.
func (g *answerFlags) read(questions []codemode.Question) (map[string]codemode.QuestionAnswer, error) {
	if g.answers != "" {
		return readAnswers(g.answers)
	}
	action := codemode.AnswerAccept
	switch {
	case g.decline:
		action = codemode.AnswerDecline
	case g.cancel:
		action = codemode.AnswerCancel
	}
	answers, forms := make(map[string]codemode.QuestionAnswer), 0
	for _, q := range questions {
		answer := codemode.QuestionAnswer{Action: action}
		if q.Kind == codemode.QuestionForm && g.accept {
			forms++
			content, err := g.form(q)
			if err != nil {
				return nil, err
			}
			answer.Content = content
		}
		answers[q.ID] = answer
	}
	switch {
	case forms > 1:
		return nil, cli.Usagef("there are %d forms: expected --answers, which has the content of each", forms)
	case forms == 0 && (len(g.fields) > 0 || g.content != ""):
		return nil, cli.Usagef("there is no form to fill in: expected --accept alone")
	}
	return answers, nil
}

// readAnswers reads the answers to all questions.
func readAnswers(flag string) (map[string]codemode.QuestionAnswer, error) {
	b, err := jsonFlag("--answers", flag)
	if err != nil {
		return nil, err
	}
	var answers map[string]codemode.QuestionAnswer
	if err := json.Unmarshal(b, &answers); err != nil {
		return nil, cli.Usagef("--answers: %v, expected an object with an action, and a content, for each question", err)
	}
	return answers, nil
}

// maxFlagFile bounds the files that flags name, in bytes: more no answer may have.
const maxFlagFile = 1 << 20

// jsonFlag returns the document that is a flag's value, or in the file that it names.
func jsonFlag(name, value string) (json.RawMessage, error) {
	b := []byte(value)
	if path, ok := strings.CutPrefix(value, "@"); ok {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if b, err = io.ReadAll(io.LimitReader(f, maxFlagFile+1)); err != nil {
			return nil, err
		}
	}
	if len(b) > maxFlagFile || !json.Valid(b) {
		return nil, cli.Usagef("%s is not JSON of at most %d bytes, expected JSON or @FILE", name, maxFlagFile)
	}
	return b, nil
}

// form fills in the form of a question.
func (g *answerFlags) form(q codemode.Question) (json.RawMessage, error) {
	if g.content != "" {
		return jsonFlag("--content", g.content)
	}
	known, err := fieldsOf(q)
	if err != nil {
		return nil, err
	}
	values := make(map[string]any)
	for _, given := range g.fields {
		name, value, ok := strings.Cut(given, "=")
		if !ok {
			return nil, cli.Usagef("--field is %q, expected NAME=VALUE", given)
		}
		f, ok := known[name]
		if !ok {
			return nil, cli.Usagef("the form has no field %q, expected one of %s", name, terminal.Line(strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
		if values[name], err = f.add(values[name], value); err != nil {
			return nil, cli.Usagef("--field %s: %v", terminal.Short(name), err)
		}
	}
	return json.Marshal(values)
}

// formField is one field of a form.
type formField struct {
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Enum        []any      `json:"enum"`
	OneOf       []constant `json:"oneOf"`
	Items       struct {
		Enum  []any      `json:"enum"`
		AnyOf []constant `json:"anyOf"`
	} `json:"items"`
	required bool
}

// constant is a choice with a title.
type constant struct {
	Const any `json:"const"`
}

// fieldsOf reads the fields of a form.
func fieldsOf(q codemode.Question) (map[string]*formField, error) {
	var form struct {
		Properties map[string]*formField `json:"properties"`
		Required   []string              `json:"required"`
	}
	if err := json.Unmarshal(q.Schema, &form); err != nil {
		return nil, fmt.Errorf("the form of the question %s cannot be read here, use --content: %w", terminal.Short(q.ID), err)
	}
	for name, f := range form.Properties {
		if f == nil {
			return nil, fmt.Errorf("the field %s cannot be read here, use --content", terminal.Short(name))
		}
		f.required = slices.Contains(form.Required, name)
	}
	return form.Properties, nil
}

// add returns the value of a field that is given once more.
func (f *formField) add(before any, value string) (any, error) {
	if f.Type == "array" {
		list, _ := before.([]string)
		return append(list, value), nil
	}
	if before != nil {
		return nil, errors.New("it is given twice, and holds one value")
	}
	switch f.Type {
	case "number", "integer":
		var n json.Number
		if err := json.Unmarshal([]byte(value), &n); err != nil || strings.HasPrefix(value, `"`) || n == "" {
			return nil, fmt.Errorf("it is %q, expected a number", value)
		}
		return n, nil
	case "boolean":
		if value != "true" && value != "false" {
			return nil, fmt.Errorf("it is %q, expected true or false", value)
		}
		return value == "true", nil
	}
	return value, nil
}

// showQuestions writes what a tool asks. All texts are written by a stranger.
func showQuestions(line func(name, value string), p *policy.Approval) {
	for _, q := range p.Questions {
		line("question", fmt.Sprintf("%s (%s) of %s", terminal.Line(q.ID), q.Kind, terminal.Line(q.From)))
		line("  says", terminal.Line(q.Message))
		line("  address", terminal.Line(q.URL))
		fields, err := fieldsOf(q)
		if q.Kind == codemode.QuestionForm && err != nil {
			line("  form", terminal.Line(string(q.Schema)))
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			line("  --field "+terminal.Line(name)+"=", terminal.Line(fields[name].words()))
		}
		if answer, ok := p.Answers[q.ID]; ok {
			line("  answer", string(answer.Action))
		}
	}
}

// words say what a field takes.
func (f *formField) words() string {
	var choices []string
	for _, c := range slices.Concat(f.Enum, f.Items.Enum, constants(f.OneOf), constants(f.Items.AnyOf)) {
		choices = append(choices, fmt.Sprint(c))
	}
	out := f.Type
	if len(choices) > 0 {
		out = "one of " + strings.Join(choices, ", ")
		if f.Type == "array" {
			out = "any of " + strings.Join(choices, ", ")
		}
	}
	if f.required {
		out += ", required"
	}
	for _, more := range []string{f.Title, f.Description} {
		if more != "" {
			out += "; " + more
		}
	}
	return out
}

func constants(list []constant) (out []any) {
	for _, c := range list {
		out = append(out, c.Const)
	}
	return out
}
