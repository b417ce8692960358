package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/quoinhq/quoin/host/catalog"
)

// onCall is a function of the gateway itself: it needs no plugin and no process.
var onCall = catalog.Tool{
	Name:        "on_call",
	Description: "Tells who is on call for an area of work, such as a label of an issue.",
	ReadOnly:    true,
	Idempotent:  true,
	Parameters:  json.RawMessage(`{"type":"object","properties":{"area":{"type":"string","minLength":1,"description":"such as data or urgent"}},"required":["area"],"additionalProperties":false}`),
	Output:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	Examples:    []catalog.Example{{Input: json.RawMessage(`{"area":"data"}`)}},
	Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		var in struct {
			Area string `json:"area"`
		}
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return nil, fmt.Errorf("area: %w", err)
		}
		people := []string{"Ada", "Grace", "Edsger"}
		h := fnv.New32a()
		h.Write([]byte(in.Area))
		return json.Marshal(map[string]string{"name": people[h.Sum32()%uint32(len(people))]})
	},
}
