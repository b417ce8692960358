// Package declare writes TypeScript declarations of tools, for programs and the
// models that write them. It is for the host, which serves the files to guests.
//
// # Use
//
//	text := declare.Tool(tool, "list_issues")
//
// [Tool] makes the file of one tool, [Index] the list of all, [MCP] the file of a server and
// [Namespace] the file of a namespace. [Types] turns JSON Schemas into type expressions, for
// other declarations.
//
// # What files look like
//
// A tool is a method of the global interface Tools. The guest's own declarations
// start that interface and every file continues it, so that any selection of files
// makes one program:
//
//	interface Tools {
//	  /** Lists issues. */
//	  list_issues(input?: { state?: "open" | "closed" }): Promise<{ items: list_issues_Issue[] }>;
//	}
//
// A tool without a function of its own is an overload of the method call that takes
// its id. Definitions that a schema refers to become types with the tool's name
// before theirs.
//
// # What a type says of a schema
//
// Every value that fits the schema fits the type; the reverse need not hold.
// What TypeScript has no words for (ranges, formats, patterns, defaults) stands
// in comments. What cannot be expressed, or goes beyond a bound, is unknown.
//
// # Trust
//
// Schemas and descriptions come from plugins, servers and callers. Whatever they
// hold, the text passes the TypeScript compiler, nothing leaves its comment, and
// no file is longer than [MaxBytes]. Rendering never fails.
//
// # Concurrency
//
// The functions may be called at any time from any goroutine. A Types belongs to
// one.
package declare
