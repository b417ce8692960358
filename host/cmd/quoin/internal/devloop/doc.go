// Package devloop is the author's inner loop: it watches the folder of a plugin and
// makes every save live.
//
// [Run] builds the folder, puts what was built into a [Host], one of this process
// or one behind a server, prints what has changed in what a model sees, and runs
// the scratch cell, dev.ts or dev.js. After that every save does it again:
//
//  1. Saves that come together are taken together, and one that arrives while an
//     earlier one is being built, put into service or run ends that. Hidden files, tests,
//     logs, backup files of editors, files with unchanged content and what the session itself
//     writes do not count.
//  2. The build makes a folder of its own. Without a build, nothing changes; the compiler's
//     words are shown once, in place of its words before.
//  3. The host checks the new generation completely before it takes the place of the one
//     before. Calls end where they started. If the host refuses the new generation, the one
//     before stays, and the reason is shown.
//  4. The host is asked what a model now sees of the plugin: tools with their
//     schemas, namespaces with their prompts and declarations. Only differences are
//     printed.
//  5. The scratch cell runs as any cell does.
//
// A change of the scratch cell alone does the last step only. When the context of
// Run ends, the host gets back what it had, and nothing is left in the folder or in
// the temporary directory.
package devloop
