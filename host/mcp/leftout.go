package mcp

import "slices"

// LeftOut are tools that a server has and that cannot be used, for one reason, or the parts
// of their input schemas.
type LeftOut struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`           // of tools
	Tools  []string `json:"tools"`           // the first of them, with what could not be read in brackets
	Parts  bool     `json:"parts,omitempty"` // only parts of their input schemas are left out
}

// unreadParts is the reason why parts of input schemas are left out.
const unreadParts = "a validator cannot read them, so the server judges these arguments"

// maxLeftOut is how many tools are named for one reason.
const maxLeftOut = 5

// maxReasons bounds how many are told apart.
const maxReasons = 1000

// leaveOut notes why a tool is not used.
func (l *listing) leaveOut(name, why string) {
	if len(l.left) >= maxReasons-1 {
		why = "there are too many reasons to tell them apart"
	}
	i := slices.IndexFunc(l.left, func(o LeftOut) bool { return o.Reason == why })
	if i < 0 {
		i = len(l.left)
		l.left = append(l.left, LeftOut{Reason: why, Parts: why == unreadParts})
	}
	if l.left[i].Count++; l.left[i].Count <= maxLeftOut {
		l.left[i].Tools = append(l.left[i].Tools, bounded(name, 300))
	}
}

// noteLeftOut logs what is left out, once and not with each list that says the same. The
// caller is the only one that connects the server.
func (k *keeper) noteLeftOut(left []LeftOut) {
	same := func(a, b LeftOut) bool {
		return a.Reason == b.Reason && a.Count == b.Count && slices.Equal(a.Tools, b.Tools)
	}
	if slices.EqualFunc(k.left, left, same) {
		return
	}
	k.left = left
	for _, o := range left[:min(len(left), maxListWarnings)] {
		what := map[bool]string{false: "tools", true: "parts of input schemas"}[o.Parts]
		k.log.Warn(what+" of an MCP server were left out", "reason", o.Reason, "count", o.Count, "tools", o.Tools, "reasons", len(left))
	}
}
