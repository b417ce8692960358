// Package plugintest holds what the tests of the example plugins share: the
// rules every example keeps, and calls through a namespace with typed results.
package plugintest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/quoinhq/quoin/sdk/sdktest"
)

// Check holds a plugin to the habits the examples teach: its manifest and its
// own words agree, every tool has a label, an example and described fields,
// every namespace has a short prompt.
func Check(t *testing.T, h *sdktest.Harness, manifest string) {
	t.Helper()
	d := h.Describe()
	var m struct {
		ID, Version, Description, Command string
		Protocol                          int
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	if m.ID != d.ID || m.Version != d.Version || m.Description != d.Description || m.Protocol != 2 || m.Command != "./"+d.ID {
		t.Errorf("%s says %+v, the plugin %s %s %q", manifest, m, d.ID, d.Version, d.Description)
	}
	for _, tool := range d.Tools {
		if tool.Label == "" || len(tool.Examples) == 0 || len(tool.Output) == 0 {
			t.Errorf("tool %s lacks a label, an example or an output schema", tool.Name)
		}
		checkFields(t, tool.Name, tool.Parameters)
	}
	for _, n := range d.Namespaces {
		if n.Prompt == "" || len(n.Prompt) > 700 {
			t.Errorf("the prompt of namespace %s has %d bytes, want 1 to 700", n.ID, len(n.Prompt))
		}
	}
}

// checkFields wants a description on every field of an input, at any depth.
func checkFields(t *testing.T, place string, schema json.RawMessage) {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatalf("%s: %v", place, err)
	}
	for name, property := range s.Properties {
		var p struct{ Description string }
		if err := json.Unmarshal(property, &p); err != nil || p.Description == "" {
			t.Errorf("%s.%s has no description for the model", place, name)
		}
		checkFields(t, place+"."+name, property)
	}
	if s.Items != nil {
		checkFields(t, place+"[]", s.Items)
	}
}

// Verb calls a verb of a namespace and decodes its result. It fails the test on
// any error.
func Verb[T any](t *testing.T, h *sdktest.Harness, namespace, verb string, args ...any) (out T) {
	t.Helper()
	result, err := h.Verb(namespace, []string{verb}, args...)
	if err != nil {
		t.Fatalf("%s.%s: %v", namespace, verb, err)
	}
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatalf("%s.%s: %v\n%s", namespace, verb, err, result)
	}
	return out
}

// Refusal is an error as a host sees it.
type Refusal struct {
	Code, Message string
	Details       json.RawMessage
}

// Refused calls a verb that must fail and returns its error.
func Refused(t *testing.T, h *sdktest.Harness, namespace, verb string, args ...any) (out Refusal) {
	t.Helper()
	result, err := h.Verb(namespace, []string{verb}, args...)
	if err == nil {
		t.Fatalf("%s.%s: result %s; want a refusal", namespace, verb, result)
	}
	// The error's type is the protocol's, which examples do not import.
	text, err := json.Marshal(err)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s.%s: %v\n%s", namespace, verb, err, text)
	}
	return out
}
