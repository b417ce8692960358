package modeltools

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

// manyTools is how many tools the prompt describes one by one. It names some where there
// are more: to describe them all would cost more than to search for what a task needs.
const manyTools = 100

// briefRoom is what all tools, servers and namespaces together have where there are more
// than manyTools, in bytes. With the rest of the definitions it is below 1,500 tokens.
const briefRoom = 2000

// Bounds of what one namespace may say to the model, and all of them together.
const (
	maxDescription     = 300  // bytes of a description
	maxBriefLine       = 120  // bytes of one where there are many tools
	maxNamespacePrompt = 2000 // bytes of a prompt
	maxNamespaceBlocks = 8000
	maxMCPText         = 4000 // of all MCP servers
)

// Offer is what the description of exec tells a model about.
type Offer struct {
	Catalog    *catalog.Catalog
	Namespaces []namespaces.Registration
	// MCP writes the text about MCP servers, in at most room bytes. It may be
	// nil, and returns "" without servers.
	MCP func(room int) string
	// Programs are the saved programs, each with the call that runs it.
	Programs []Program
}

// Program is a saved program as a model is told of it.
type Program struct{ Call, Description string }

// maxProgramText bounds what is said of all saved programs where there are few tools, in
// bytes.
const maxProgramText = 1500

// brief reports whether there are too many tools to describe each.
func (o Offer) brief() bool { return o.Catalog.Len() > manyTools }

// guestGlobal is a line about what a program can use. Names are the globals it is
// about, for the test that each of them exists.
type guestGlobal struct {
	names []string
	line  string
	shown func(Offer) bool // nil: always
	more  func(Offer) string
}

func hasTools(o Offer) bool { return o.Catalog.Len() > o.Catalog.Counts()[catalog.SourceMCP] }

func hasMCP(o Offer) bool { return o.Catalog.Counts()[catalog.SourceMCP] > 0 }

// declaredFiles names the kinds of declaration files besides the guest's own.
func declaredFiles(o Offer) string {
	more := ""
	if hasTools(o) {
		more += ", tools/NAME.d.ts"
	}
	if len(o.Namespaces) > 0 {
		more += ", namespaces/NAME.d.ts"
	}
	return more
}

// guestGlobals are the lines, in the order of the description.
var guestGlobals = []guestGlobal{
	{[]string{"tools"}, `tools.NAME(input) calls a tool and resolves to its result, or rejects with its error`, hasTools, nil},
	{[]string{"tools"}, `tools.search(query, {limit}) finds tools; tools.describe(id) gives schemas; tools.call(id, input) calls by id`, hasTools, nil},
	{[]string{"ALL_TOOLS"}, `ALL_TOOLS lists all tools as {id, name, description, source}`, hasTools, nil},
	{[]string{"MCP"}, `MCP.SERVER.TOOL(input) calls a tool of an MCP server`, hasMCP, nil},
	{[]string{"API"}, `(await API.list(prefix)).files and (await API.read(path)).content are TypeScript declarations: guest.d.ts`, nil, declaredFiles},
	{[]string{"text", "json", "console"}, `text(value), json(value), console.log(...) add to the output`, nil, nil},
	{[]string{"results"}, `results.save(name, value), results.load(name), results.delete(name) put values aside until the program ends`, nil, nil},
	{[]string{"yield_control"}, `await yield_control() gives you the output so far; wait goes on from there`, nil, nil},
	{[]string{"setTimeout", "setInterval", "URL", "TextEncoder", "TextDecoder", "structuredClone", "atob", "btoa", "crypto", "AbortController"},
		`setTimeout, setInterval, URL, TextEncoder, TextDecoder, structuredClone, atob, btoa, crypto.randomUUID, AbortController`, nil, nil},
}

// execDescription is what a model is told of exec.
func execDescription(o Offer, s codemode.Settings) string {
	var b strings.Builder
	b.WriteString("Runs a " + languageNames(s) + " program and returns its result. Other tools are called from inside of such programs.\n\n" +
		economy +
		"The program is the body of an async function: use await, and return the final value (it becomes JSON). " +
		"There are no modules, no require, no files, no network and no environment.\n\n")
	for _, g := range guestGlobals {
		if g.shown == nil || g.shown(o) {
			b.WriteString("- " + g.line)
			if g.more != nil {
				b.WriteString(g.more(o))
			}
			b.WriteString("\n")
		}
	}
	if hasTools(o) || hasMCP(o) {
		b.WriteString(signalText)
	}
	b.WriteString("\nExample:\n" + promptExample(o) + "\n\n")
	b.WriteString(limitsText(s))
	b.WriteString(reachText(o))
	return b.String()
}

// economy is what saves most: turns first, then what each of them costs.
const economy = "Do the whole task in one program: find tools, call them, loop, branch, join and filter there. " +
	"Make calls that do not need each other in parallel, with Promise.all or Promise.allSettled. " +
	"Return only what matters, not whole results. " +
	"Never poll or sleep for a result: await the call, however long it takes.\n\n"

// signalText says how a call is given up, and that a program waits for its other calls.
const signalText = "\nEvery call takes {signal} after its input; aborting it gives the call up. A program ends when it has returned and its calls have ended.\n"

// reachText says what the program can reach: tools, MCP servers and namespaces.
func reachText(o Offer) string {
	if o.brief() {
		return briefText(o)
	}
	text := ""
	if index := o.Catalog.QuickIndex(); index != "" {
		text = "\n\nTools (call => result  what it does):\n" + index
	}
	if o.MCP != nil {
		text += o.MCP(maxMCPText)
	}
	return text + namespaceBlocks(o) + programLines(o, maxProgramText)
}

// programLines has a line for each saved program, in at most room bytes together.
func programLines(o Offer, room int) string {
	return listed("\n\nSaved programs, to be run with one call:", o.Programs, "programs.list()", room,
		func(p Program) (name, description string) { return p.Call, p.Description })
}

// briefText is reachText for many tools. Namespaces come first, because searches do not know
// their functions, then tools and servers in equal parts.
func briefText(o Offer) string {
	spaces := namespaceLines(o, briefRoom/3) + programLines(o, briefRoom/5)
	room := briefRoom - len(spaces)
	const head = "\n\nSome of the tools, by owner (tools.search finds all):\n"
	servers := ""
	if o.MCP != nil {
		half := room
		if hasTools(o) {
			half /= 2
		}
		servers = o.MCP(half)
	}
	text := ""
	if hasTools(o) {
		text = head + o.Catalog.Overview(room-len(head)-len(servers))
	}
	return text + servers + spaces
}

// waitDescription is what a model is told of wait.
func waitDescription(s codemode.Settings) string {
	return fmt.Sprintf("Continues a program whose result has the status \"waiting\", with the runId of that result, and returns its next result. "+
		"It returns as soon as the program has ended, yielded or asked something, so do not poll and do not sleep. "+
		"It is for no other use. A waiting program is kept for %s.", duration(s.SnapshotTTL))
}

func languageNames(s codemode.Settings) string {
	names := make([]string, len(s.Languages))
	for i, l := range s.Languages {
		names[i] = map[string]string{codemode.LanguageJavaScript: "JavaScript", codemode.LanguageTypeScript: "TypeScript"}[l]
	}
	return strings.Join(names, " or ")
}

// promptExample shows the two things that save most: calls in parallel, and
// returning little.
func promptExample(o Offer) string {
	if !hasTools(o) {
		return "const words = \"the quick brown fox\".split(\" \");\nreturn words.map((w) => w.length);"
	}
	return "const found = await tools.search(\"open issues\", { limit: 3 });\n" +
		"const all = await Promise.all(found.map((t) => tools.describe(t.id)));\n" +
		"return all.map((t) => ({ id: t.id, parameters: t.parameters }));"
}

func limitsText(s codemode.Settings) string {
	over := "more than that fails"
	if s.OnOutputLimit == codemode.OutputTruncate {
		over = "the rest is cut off"
	}
	return fmt.Sprintf("Limits: %s of computing between two awaits; %s of memory; %d bytes of output and value together (%s); %d tool calls at once, the others queue. "+
		"A result with the status \"waiting\" is not the end: call wait with its runId.",
		duration(s.Timeout), size(s.MemoryLimit), s.MaxOutput, over, s.MaxPendingCalls)
}

// duration writes a time in the largest unit that it is a whole number of.
func duration(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func size(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// namespaceBlocks has one block for each namespace that the run can see.
func namespaceBlocks(o Offer) string {
	var b strings.Builder
	for _, n := range o.Namespaces {
		block := "\n\n" + n.GlobalName
		if d := bounded(strings.Join(strings.Fields(n.Description), " "), maxDescription); d != "" {
			block += ": " + d
		}
		if p := bounded(strings.TrimSpace(n.Prompt), maxNamespacePrompt); p != "" {
			block += "\n" + p
		}
		if b.Len()+len(block) > maxNamespaceBlocks {
			continue
		}
		b.WriteString(block)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nGlobals of namespaces:" + b.String()
}

// namespaceLines has a line for each namespace that the run can see, in at most room
// bytes together.
func namespaceLines(o Offer, room int) string {
	return listed("\n\nGlobals of namespaces, declared in namespaces/NAME.d.ts:", o.Namespaces, `await API.list("namespaces")`, room,
		func(n namespaces.Registration) (name, description string) { return n.GlobalName, n.Description })
}

// listed has a line for each thing below a heading, in at most room bytes together. Where
// there is no room for all, it says how many are left and how a program finds them.
func listed[Thing any](heading string, things []Thing, others string, room int, about func(Thing) (name, description string)) string {
	if len(things) == 0 {
		return ""
	}
	text := heading
	rest := func(n int) string { return fmt.Sprintf("\n- and %d more: %s", n, others) }
	for i, thing := range things {
		name, description := about(thing)
		line := "\n- " + name
		if d := bounded(strings.Join(strings.Fields(description), " "), maxBriefLine); d != "" {
			line += ": " + d
		}
		if more := len(things) - i; len(text)+len(line)+len(rest(more)) > room {
			return text + rest(more)
		}
		text += line
	}
	return text
}

// bounded returns at most n bytes of a text of a plugin, as valid UTF-8.
func bounded(s string, n int) string {
	return text.Shorten(strings.ToValidUTF8(s, string(utf8.RuneError)), n)
}
