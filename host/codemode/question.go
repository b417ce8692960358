package codemode

import "encoding/json"

// QuestionKind tells what a person has to do about a [Question].
type QuestionKind string

// The kinds of a Question.
const (
	QuestionForm          QuestionKind = "form"          // fill in a form: Schema says which fields
	QuestionURL           QuestionKind = "url"           // visit URL, and say whether that was done
	QuestionAuthorization QuestionKind = "authorization" // sign in at URL; signing in answers it
)

// Question is what a tool asks a person in the middle of a call, such as the elicitation
// of an MCP server. Its texts come from the tool and are hostile.
type Question struct {
	// ID tells the questions of one call apart.
	ID   string       `json:"id"`
	Kind QuestionKind `json:"kind"`
	// From names who asks: the id of the tool's owner, such as the name of an MCP server.
	From    string `json:"from"`
	Message string `json:"message"`
	// Schema is the JSON Schema of the answer of a form: an object with flat properties.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is where to go; empty for a form. A URL of kind authorization may be empty
	// where the host cannot take the callback: Message then says what to do.
	URL string `json:"url,omitempty"`
}

// AnswerAction says what a person did about a question, in the words of elicitation in the MCP
// specification.
type AnswerAction string

// The actions of a QuestionAnswer.
const (
	AnswerAccept  AnswerAction = "accept"  // the form is filled in, the URL was visited
	AnswerDecline AnswerAction = "decline" // the person said no
	AnswerCancel  AnswerAction = "cancel"  // the person made no choice
)

// QuestionAnswer is what a person answered to a Question.
type QuestionAnswer struct {
	Action AnswerAction `json:"action"`
	// Content is the filled-in form, an object of Question.Schema; only with accept.
	Content json.RawMessage `json:"content,omitempty"`
}

// InputRequired is the error of a tool that cannot continue before a person has answered. The
// call has had no effect that making it again would repeat. The run waits; once all questions
// are answered the tool is invoked again with the same input, the same idempotency key, State
// and the answers.
type InputRequired struct {
	Questions []Question
	// State is the tool's own, given back as it is. At most 64 KiB.
	State json.RawMessage
}

// Error says that a person has to answer.
func (e *InputRequired) Error() string { return "a person has to answer before the call can go on" }

// Resumption is what a tool gets that is invoked again after InputRequired.
type Resumption struct {
	State json.RawMessage `json:"state,omitempty"`
	// Answers are by Question.ID.
	Answers map[string]QuestionAnswer `json:"answers"`
}
