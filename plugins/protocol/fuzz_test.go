package protocol

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// FuzzDescription feeds the reader of what a plugin says of itself.
func FuzzDescription(f *testing.F) {
	b, err := proto.Marshal(descriptionToWire(&Description{
		ID: "p", Version: "1", Tools: []ToolInfo{{Name: "t", Description: "d", Parameters: json.RawMessage(`{}`), Examples: []Example{{Input: json.RawMessage(`{"a":1}`)}}}},
		Namespaces: []NamespaceInfo{{ID: "n", GlobalName: "N", RequiredTools: []string{"t"}, Scope: json.RawMessage(`{"kind":"object"}`)}},
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("\x1a\x08\x0a\x01t\x22\x03{]}"))
	f.Add([]byte("*\x1c\n\x01n\x12\x01N*\x01t2\x11{\"kind\":\"obje\xa0t\"}")) // not UTF-8
	f.Fuzz(func(t *testing.T, b []byte) {
		var w protocolpb.DescribeResponse
		if proto.Unmarshal(b, &w) != nil {
			return
		}
		d, bad := descriptionFromWire(&w)
		if bad != nil {
			checkError(t, bad)
			return
		}
		for _, tool := range d.Tools {
			mustBeJSON(t, "parameters", tool.Parameters)
			mustBeJSON(t, "output", tool.Output)
			for _, e := range tool.Examples {
				mustBeJSON(t, "example", e.Input)
				mustBeJSON(t, "example", e.Output)
			}
		}
		for _, n := range d.Namespaces {
			mustBeJSON(t, "scope", n.Scope)
		}
	})
}

// FuzzReply feeds the readers of what a plugin answers to a call.
func FuzzReply(f *testing.F) {
	for _, e := range []*protocolpb.CallToolEvent{
		{Event: &protocolpb.CallToolEvent_Result{Result: []byte(`{"a":1}`)}},
		{Event: &protocolpb.CallToolEvent_Progress{Progress: []byte(`{`)}},
		{Event: &protocolpb.CallToolEvent_Error{Error: &protocolpb.Error{Kind: 99, Code: "c", Message: "m", Details: []byte("[")}}},
	} {
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\x12\x04\"\xfe\"\t")) // not UTF-8
	f.Fuzz(func(t *testing.T, b []byte) {
		var w protocolpb.CallToolEvent
		if proto.Unmarshal(b, &w) != nil {
			return
		}
		checkError(t, errorFromWire(w.GetError()))
		for _, field := range [][]byte{w.GetResult(), w.GetProgress()} {
			v, err := required(field, "the field")
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || e.Kind != KindProtocol {
					t.Fatalf("an error of no kind: %v", err)
				}
				continue
			}
			mustBeJSON(t, "field", v)
		}
	})
}

// checkError fails for an error that a plugin must not be able to make.
func checkError(t *testing.T, e *Error) {
	t.Helper()
	if e == nil {
		return
	}
	if e.Kind == KindUnknown || e.Kind == KindCancelled || e.Details != nil && !json.Valid(e.Details) {
		t.Fatalf("a plugin made the error %+v", e)
	}
}

func mustBeJSON(t *testing.T, what string, b json.RawMessage) {
	t.Helper()
	if b != nil && !(json.Valid(b) && utf8.Valid(b)) {
		t.Fatalf("%s is no JSON: %.200q", what, b)
	}
}
