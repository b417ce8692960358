package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/quoinhq/quoin/host/catalog"
)

var exampleTools = []catalog.Tool{
	{Name: "issue_list", Owner: "tracker", Description: "Lists open issues.", Parameters: json.RawMessage(`{"type":"object","properties":{"state":{"enum":["open","closed"]}},"additionalProperties":false}`)},
	{Name: "issue_close", Owner: "tracker", Description: "Closes an issue.", Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)},
	{Name: "mail_send", Owner: "mail", Description: "Sends a letter.", Parameters: json.RawMessage(`{"type":"object"}`)},
}

// A model searches the catalog in its own words.
func ExampleCatalog_Search() {
	c, err := catalog.New(exampleTools, catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range c.Search("close an issue", 1) {
		fmt.Println(e.ID)
	}
	// Output: quoin:tracker:issue_close
}

// Inputs are checked against the schema of the tool before a call.
func ExampleCatalog_ValidateInput() {
	c, err := catalog.New(exampleTools, catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = c.ValidateInput("quoin:tracker:issue_close", json.RawMessage(`{"id": "seven"}`))
	var e *catalog.Error
	fmt.Println(errors.As(err, &e) && e.Code == catalog.InvalidInput)
	// Output: true
}

// Filter makes the catalog of a session that sees fewer tools.
func ExampleCatalog_Filter() {
	c, err := catalog.New(exampleTools, catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	readOnly := c.Filter(func(t *catalog.Tool) bool { return t.Owner == "mail" })
	fmt.Println(c.Len(), readOnly.Len())
	// Output: 3 1
}

// Shape writes a schema in the short form that a model reads.
func ExampleShape() {
	fmt.Println(catalog.Shape(exampleTools[0].Parameters))
	// Output: { state?: "open"|"closed" }
}
