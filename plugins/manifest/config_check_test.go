package manifest

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCheckConfig: each mistake in a configuration has its field and what was expected.
func TestCheckConfig(t *testing.T) {
	m := Manifest{ID: "books", ConfigSchema: json.RawMessage(`{"type": "object", "required": ["shelf"], "additionalProperties": false, "properties": {
		"shelf": {"type": "string"}, "sort": {"enum": ["title", 1]}, "tags": {"type": "array", "items": {"type": ["string", "null"]}}, "max": {"type": "integer", "maximum": 5}}}`)}
	for config, want := range map[string]string{
		`{"shelf": "a", "sort": 1}`:         "",
		`{"shelf": 1}`:                      "plugins.config.books.shelf is a number, expected a string",
		``:                                  "plugins.config.books.shelf is missing",
		`{"shelf": "a", "sort": "x"}`:       `plugins.config.books.sort is "x", expected one of "title", 1`,
		`{"shelf": "a", "tags": ["a", {}]}`: "plugins.config.books.tags.1 is an object, expected null or a string",
		`{"shelf": "a", "shelv": 1}`:        "plugins.config.books.shelv is no such field of the plugin's configSchema",
		`{"shelf": "a", "max": 6}`:          "plugins.config.books.max does not fit: maximum: got 6, want 5",
		`[]`:                                "plugins.config.books is a list, expected an object",
		`{"shelf": 1, "max": "x"}`:          "plugins.config.books.max is a string, expected an integer; plugins.config.books.shelf is a number, expected a string",
	} {
		list, err := m.CheckConfig(json.RawMessage(config))
		var got []string
		for _, c := range list {
			got = append(got, c.Field("books")+" "+c.Text)
		}
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, %v; want %q", config, got, err, want)
		}
	}
	if _, err := (Manifest{ConfigSchema: json.RawMessage(`{"type": 1}`)}).CheckConfig(nil); err == nil {
		t.Error("an invalid schema was used")
	}
	if list, err := (Manifest{}).CheckConfig(json.RawMessage(`[]`)); list != nil || err != nil {
		t.Errorf("without a schema: %v, %v", list, err)
	}
}
