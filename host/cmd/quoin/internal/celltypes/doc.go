// Package celltypes makes the types of a plugin known to editors, and has the
// TypeScript compiler check cells against them.
//
// [Declarations] asks a host for what its programs can call: the globals of every
// guest, and the tools, namespaces and MCP servers of a session. [Write] puts that
// into .quoin/types.d.ts of the author's folder, next to a tsconfig.json by which
// editors take cells for what they are: modules of their own that know the globals
// of a guest and nothing of a browser or of Node.js.
//
// A cell is the body of a function, which TypeScript has no word for: an editor
// objects to a return at the top level of a .ts file (TS1108), and no option of the
// compiler changes that. It does not object in .js files. [Check] puts a function
// around each cell, so that the compiler sees what runs; places in its complaints are places
// in the cell's own file.
package celltypes
