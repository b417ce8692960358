// Package mcpinterop has the tests of make mcp-interop: servers and clients that are not of
// this project, with Quoin between them.
//
// Behind Quoin are server-everything, server-filesystem and server-memory. In front of
// it are the TypeScript clients of both generations and the Inspector. The tests have the
// build tag interop, because they install packages of npm. Versions are pinned in
// testdata/package.json. Documents of large APIs, which are read too, come from npm and
// from the Go module proxy.
package mcpinterop
