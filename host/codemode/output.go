package codemode

import (
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// OutputKind tells the text that a program printed from the values it showed.
type OutputKind string

// The kinds of an Output.
const (
	OutputText OutputKind = "text" // Output.Value is a JSON string
	OutputJSON OutputKind = "json" // Output.Value is any JSON value
)

// Output is one item the program emitted since the previous result of its run.
type Output struct {
	Kind  OutputKind
	Value json.RawMessage // of kind text: a JSON string
}

// MarshalJSON writes {"type":"text","text":…} or {"type":"json","value":…}.
func (o Output) MarshalJSON() ([]byte, error) {
	if o.Kind == OutputText {
		return jsontext.Marshal(struct {
			Type string          `json:"type"`
			Text json.RawMessage `json:"text"`
		}{"text", o.Value})
	}
	return jsontext.Marshal(struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}{"json", o.Value})
}

// Text returns the text of an item of kind text, and "" for any other.
func (o Output) Text() string {
	var s string
	if o.Kind != OutputText || json.Unmarshal(o.Value, &s) != nil {
		return ""
	}
	return s
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Output) UnmarshalJSON(b []byte) error {
	var in struct {
		Type  OutputKind      `json:"type"`
		Text  *string         `json:"text"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	switch {
	case in.Type == OutputText && in.Text != nil:
		text, err := jsontext.Marshal(*in.Text)
		*o = Output{Kind: OutputText, Value: text}
		return err
	case in.Type == OutputJSON && in.Value != nil:
		*o = Output{Kind: OutputJSON, Value: in.Value}
		return nil
	}
	return fmt.Errorf("output of type %.64q is not %s with text, or %s with value", string(in.Type), OutputText, OutputJSON)
}
