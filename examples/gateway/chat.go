package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// chat is one conversation on a terminal, or over pipes.
type chat struct {
	gateway      *gateway
	conversation *conversation
	lines        *bufio.Scanner

	mu     sync.Mutex // programs call in parallel
	out    io.Writer
	inText bool // the last thing written was a part of the model's answer
}

// talk holds the conversation until the input ends. What an earlier process left open
// comes first.
func (g *gateway) talk(ctx context.Context, id string, in io.Reader, out io.Writer) error {
	release, err := g.conversations.hold(id)
	if err != nil {
		return err
	}
	defer release()
	c := &chat{gateway: g, lines: bufio.NewScanner(in), out: out}
	c.lines.Buffer(nil, 1<<20)
	if c.conversation, err = g.conversation(id); err != nil {
		return err
	}
	defer g.watch(id, c.tell)()
	if len(c.conversation.Items) > 0 {
		c.print("(the conversation %q goes on)\n", id)
	}
	for {
		if err := c.settle(ctx); err != nil {
			return err
		}
		text, ok := c.ask("you> ")
		switch text = strings.TrimSpace(text); {
		case !ok:
			return c.lines.Err()
		case text == "" || text == "/continue":
		default:
			if err := g.say(c.conversation, text); err != nil {
				c.tell(event{Kind: eventError, Text: err.Error()})
			}
		}
	}
}

// settle advances the conversation until it is the person's turn. An error of the model's
// API leaves it as it was.
func (c *chat) settle(ctx context.Context) error {
	for {
		asked, err := c.gateway.advance(ctx, c.conversation, c.tell)
		if err != nil {
			c.tell(event{Kind: eventError, Text: err.Error()})
			return nil
		}
		if len(asked) == 0 {
			c.tell(event{Kind: eventDone})
			return nil
		}
		for _, a := range asked {
			if err := c.decide(ctx, a); err != nil {
				return err
			}
		}
	}
}

// decide puts one question to the person and enters the answer.
func (c *chat) decide(ctx context.Context, a *policy.Approval) error {
	c.tell(event{Kind: eventQuestion, Question: questionOf(a)})
	var err error
	if len(a.Questions) > 0 {
		answers := map[string]host.QuestionAnswer{}
		for _, q := range a.Questions {
			if answers[q.ID], err = c.answer(q); err != nil {
				return err
			}
		}
		_, err = c.gateway.host.Approvals().Answer(ctx, a.ID, answers, "the terminal")
	} else {
		text, ok := c.ask("allow? [y/N] ")
		if !ok {
			return errors.Join(errNotAnswered, c.lines.Err())
		}
		decision := policy.Deny
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "y") {
			decision = policy.AllowOnce
		}
		_, err = c.gateway.host.Approvals().Decide(ctx, a.ID, decision, "the terminal")
	}
	if err != nil { // such as: its time was over
		c.tell(event{Kind: eventError, Text: err.Error()})
	}
	return nil
}

// errNotAnswered ends a chat when its input ends at a question. The question stays.
var errNotAnswered = errors.New("the question has no answer yet: it is asked again when the conversation goes on")

// answer asks for what a tool wants to know.
func (c *chat) answer(q codemode.Question) (host.QuestionAnswer, error) {
	hint := "done? [y/N] "
	if q.Kind == codemode.QuestionForm {
		hint = "answer (JSON by the schema above; empty declines) "
	}
	text, ok := c.ask(hint)
	if !ok {
		return host.QuestionAnswer{}, errors.Join(errNotAnswered, c.lines.Err())
	}
	switch text = strings.TrimSpace(text); {
	case q.Kind == codemode.QuestionForm && json.Valid([]byte(text)):
		return host.QuestionAnswer{Action: codemode.AnswerAccept, Content: json.RawMessage(text)}, nil
	case q.Kind != codemode.QuestionForm && strings.HasPrefix(strings.ToLower(text), "y"):
		return host.QuestionAnswer{Action: codemode.AnswerAccept}, nil
	}
	return host.QuestionAnswer{Action: codemode.AnswerDecline}, nil
}

// ask prompts for a line.
func (c *chat) ask(prompt string) (line string, ok bool) {
	c.print("%s", prompt)
	ok = c.lines.Scan()
	return c.lines.Text(), ok
}

// tell writes an event. Only the model's text comes in parts.
func (c *chat) tell(e event) {
	if e.Kind == eventText {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.inText {
			fmt.Fprint(c.out, "model> ")
		}
		c.inText = true
		fmt.Fprint(c.out, printable(e.Text))
		return
	}
	switch e.Kind {
	case eventCall:
		c.print("[%s]\n%s\n", printable(e.Tool), indent(printable(e.Text)))
	case eventNested:
		c.print("    %s %s\n", printable(e.Tool), e.Text)
	case eventResult:
		c.print("  -> %s\n", printable(e.Text))
	case eventQuestion:
		c.print("? %s %s\n", printable(e.Question.Title), printable(string(e.Question.Input)))
		for _, q := range e.Question.Asks {
			c.print("? %s: %s %s%s\n", printable(q.From), printable(q.Message), printable(string(q.Schema)), printable(q.URL))
		}
	case eventError:
		c.print("! %s\n", printable(e.Text))
	case eventDone:
		c.print("")
	}
}

func (c *chat) print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inText {
		fmt.Fprintln(c.out)
	}
	c.inText = false
	fmt.Fprintf(c.out, format, args...)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// printable keeps what models and tools write from controlling the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
