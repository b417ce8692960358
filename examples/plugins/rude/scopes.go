package main

import (
	"encoding/json"
	"strings"
)

// Scopes as no serialiser of ours would write them.

func raw(text string) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return json.RawMessage(text), nil }
}

// entry is a scope with one key.
func entry(key string) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) {
		quoted, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		return json.RawMessage(`{"kind":"object","entries":{` + string(quoted) + `:{"kind":"value","value":1}}}`), nil
	}
}

// wide has 200,000 entries.
func wide() (json.RawMessage, error) {
	items := strings.Repeat(`{"kind":"value","value":1},`, 200_000)
	return json.RawMessage(`{"kind":"object","entries":{"a":{"kind":"array","items":[` + strings.TrimSuffix(items, ",") + `]}}}`), nil
}

// deep is nested 50,000 levels.
func deep() (json.RawMessage, error) {
	const levels = 50_000
	open := strings.Repeat(`{"kind":"object","entries":{"a":`, levels)
	return json.RawMessage(open + `{"kind":"value","value":1}` + strings.Repeat(`}}`, levels)), nil
}

// huge holds one string of 12 MiB: it fits a message and no scope.
func huge() (json.RawMessage, error) {
	return json.RawMessage(`{"kind":"object","entries":{"a":{"kind":"value","value":"` + strings.Repeat("x", 12<<20) + `"}}}`), nil
}
