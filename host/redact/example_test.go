package redact_test

import (
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/redact"
)

// A Redactor hides secrets by the name of their property and by their schema.
func ExampleRedactor_JSON() {
	r := redact.Redactor{Keys: []string{"pin"}}
	doc := json.RawMessage(`{"user": "ada", "password": "xyzzy", "pin": "1815", "phrase": "open sesame"}`)
	schema := json.RawMessage(`{"properties": {"phrase": {"type": "string", "writeOnly": true}}}`)
	fmt.Println(string(r.JSON(doc, schema)))
	// Output: {"password":"[redacted]","phrase":"[redacted]","pin":"[redacted]","user":"ada"}
}
