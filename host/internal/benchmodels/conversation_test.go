package benchmodels

import "testing"

// perMessage is what a provider adds to each message for roles and separators. It is an
// estimate, the same for every way of working.
const perMessage = 4

// conversation counts what a model reads and writes from a task to its end. The system
// prompt and the text of the last answer are left out: they are the same for all ways
// of working, and a long system prompt, which is read again each turn, would only
// favour fewer turns.
type conversation struct {
	t       testing.TB
	context int // tokens so far, which the next turn reads
	cost    cost
}

// cost is what one task takes.
type cost struct {
	turns   int // answers of the model, the last one included
	input   int // tokens read, in all turns together
	output  int // tokens of calls and programs
	results int // tokens of what calls and programs returned
	longest int // tokens of the context at the end
}

// total is what is paid for without a cache of prompts.
func (c cost) total() int { return c.input + c.output }

// converse starts a conversation with definitions of tools and a task.
func converse(t testing.TB, definitions, task string) *conversation {
	c := &conversation{t: t}
	c.context = tokens(t, definitions) + tokens(t, task) + perMessage
	return c
}

// turn is one answer of the model that makes calls, and the results.
func (c *conversation) turn(calls, results []string) {
	c.t.Helper()
	c.cost.turns++
	c.cost.input += c.context
	c.context += perMessage
	for _, text := range calls {
		n := tokens(c.t, text)
		c.cost.output += n
		c.context += n
	}
	for _, text := range results {
		n := tokens(c.t, text)
		c.cost.results += n
		c.context += n + perMessage
	}
}

// end is the last answer.
func (c *conversation) end() cost {
	c.cost.turns++
	c.cost.input += c.context
	c.cost.longest = c.context
	return c.cost
}
