// Package celltest runs cells against a real plugin in a real host. The file of a cell says
// what is expected of it.
//
// A cell is a .ts or .js file. What it should do stands in the file itself, in
// comments of their own, mostly at its end:
//
//	const page = await Issues.list({ state: "open" });
//	return page.items.map((i) => i.title);
//
//	// want: ["Crash on save", "…"]
//
// There are three of them:
//
//	// want: JSON                what the cell returns. The JSON may continue in the
//	                             comment lines that follow.
//	// want-output: JSON         one item of its output: a text, or a value. Once for
//	                             each, in order; without any, output is not looked at.
//	// want-error: CODE TEXT     the cell fails with this code or reason, and its
//	                             error contains the text, which may be left out.
//
// Within the JSON of the first two, the text "…" stands for any value, and a member
// "…" of an object for any further members, for what differs from run to run. A cell that
// yields continues until it has ended. A file without any of them is a mistake: it would pass
// whatever it does.
//
// Every cell has a host, a process of the plugin and a data directory of its own,
// so that no cell sees what another has stored and any can be run alone.
package celltest
