// Package catalog is the list of tools that one run may reach: their ids and
// names, search, schemas, and the checking of inputs against them. It is for
// the host, which builds a catalog of the tools that policy leaves and feeds
// guest, prompt, describe and dispatch from the same one, so that everything
// advertised can be called.
//
// # Nouns
//
// A [Tool] is what a provider offers: the host itself, a plugin, an MCP server
// or the client of a run, told apart by [Source] and owner. Its id is
// "<source>:<owner>:<name>". A [Catalog] holds tools in a fixed order. An
// [Entry] is the compact form of a tool, a [Description] the full one. A safe
// name is the name of the function that a guest finds on the global tools. A
// [Shape] is a schema in a form that fits into a sentence.
//
// # Use
//
//	c, err := catalog.New(tools, catalog.Options{})
//	found := c.Search("open issues", 5)
//	tool, err := c.Resolve("list_issues")
//	err = c.ValidateInput(tool.ID(), input)
//	result, err := tool.Invoke(ctx, catalog.Invocation{Input: catalog.NormalInput(input)})
//
// # Guest and host
//
// What a guest may name is less than what there is: MCP tools are in the
// catalog for policy and audit, but guests reach them through another door.
// Resolve, Describe, SafeNames and the views named Guest leave them out;
// Search finds them, so that a guest learns of that door; so do ByID, ByOwner, Tools, Entries, Counts and
// Fingerprint.
//
// # Lifecycle and cost
//
// A Catalog is made by New and needs no closing. It depends on its tools and
// options alone, so a host keeps one for each set of tools and shares it among
// runs: what is costly (the search index, compiled schemas, views) is made on
// first use and then kept. Schemas compiled for one catalog serve others
// through [Schemas].
//
// # Concurrency
//
// A Catalog never changes. All methods may be called at any time from any
// goroutine; those that come first may wait for each other while something is
// made. Equal sets of tools, in whatever order they were given, give equal
// results in every respect.
//
// # Failure
//
// Every error is an *[Error] with a [Code]. UnknownTool, AmbiguousTool,
// NotCallable, InvalidInput and InvalidLimit blame the guest, and their
// messages are written for the model: they say what to do instead.
// InvalidSchema, InvalidTool and DuplicateID blame the owner of a tool.
//
// # Trust
//
// Queries, names and inputs come from guests, schemas and descriptions from
// plugins and MCP servers. Lengths are bounded wherever their work or an
// error's text depends on them, and no schema makes the host read a file or an
// address. A schema can still be costly to apply to an input made for it.
//
// # What it does not do
//
// It decides nothing about permission (give it only tools that are allowed)
// and calls no tool: see package host.
package catalog
