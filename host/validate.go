package host

import "context"

// validate checks the input of a call against the schema of its tool.
func validate(_ context.Context, c *call) *callError {
	if rejection := c.run.checkInput(c.tool, c.input); rejection != nil {
		return c.run.withSignature(c, c.tool, c.via, rejection)
	}
	return nil
}

// revalidate checks the input that a person has approved: the tool may be another by
// now.
func revalidate(_ context.Context, c *call) *callError {
	if c.decision == nil {
		return nil
	}
	return c.run.checkInput(c.tool, c.input)
}
