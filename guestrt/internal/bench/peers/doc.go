// Package peers measures the guest engine next to quickjs-wasi, the engine that
// comparable hosts for Node.js use: QuickJS in WebAssembly, with snapshots.
//
// Run it with make bench-peers. It needs node and npm, and the npm registry: the
// peer is installed into a temporary folder, in the version that
// testdata/package.json pins, and removed afterwards. Both engines run the same
// cells on the same machine, in turns, and one table shows the medians and their
// ratio: of programs in processor time, of what is short in wall time. What is
// compared is the engine inside its process: no socket, no sandbox, no host.
// Where node, npm or the registry is missing the benchmark says so and skips.
package peers
