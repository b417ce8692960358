package sdk_test

import (
	"context"

	"github.com/quoinhq/quoin/sdk"
)

// GetInput is the input of notes_get.
type GetInput struct {
	ID int `json:"id" jsonschema:"number of the note" min:"1"`
}

// Note is what notes_get returns.
type Note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// A complete plugin. In a real one this is func main.
func Example() {
	notes := map[int]Note{1: {ID: 1, Text: "water the plants"}}

	p := sdk.New(sdk.Info{ID: "notes", Version: "1.0.0", Description: "Short notes."}, nil)
	get := sdk.AddTool(p, sdk.Tool{
		Name:        "notes_get",
		Description: "Returns one note.",
		ReadOnly:    true,
		Examples:    []sdk.Example{{Input: GetInput{ID: 1}}},
	}, func(ctx context.Context, c *sdk.Call, in GetInput) (Note, error) {
		note, ok := notes[in.ID]
		if !ok {
			return Note{}, sdk.Errorf("not_found", "there is no note %d", in.ID)
		}
		return note, nil
	})
	p.AddNamespace(sdk.Namespace{
		ID: "notes", Global: "Notes", Description: "Short notes.",
		Scope: sdk.Scope{"get": sdk.Verb(get).Positional("id")},
	})
	sdk.Serve(p)
}
