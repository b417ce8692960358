package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// FindingKind names what is suspicious about a tool.
type FindingKind string

// The kinds of a Finding. None of them blocks a tool: they tell a person where to look
// before accepting it.
const (
	FindingHidden       FindingKind = "hidden_characters"        // characters that do not show
	FindingBidi         FindingKind = "bidirectional_characters" // characters that turn the direction of text
	FindingLookalike    FindingKind = "lookalike"                // a name that looks like another server's tool
	FindingInstructions FindingKind = "instructions"             // words that are addressed to a model
)

// Finding is something suspicious about a tool of a server.
type Finding struct {
	Tool  string      `json:"tool"`
	Field string      `json:"field"` // such as description
	Kind  FindingKind `json:"kind"`
	// Text is what was found, with hidden characters as escapes.
	Text string `json:"text"`
}

// maxFindings bounds what is said about one server.
const maxFindings = 100

// findingsOf looks at everything about the tools of one server that a model may see.
func findingsOf(tools pinnedTools) []Finding {
	var out []Finding
	for _, name := range tools.names() {
		add := func(field string, kind FindingKind, text string) {
			if len(out) < maxFindings {
				out = append(out, Finding{Tool: name, Field: field, Kind: kind, Text: text})
			}
		}
		examine("name", name, add)
		for _, part := range tools[name].parts() {
			eachString(part.Offered, func(text string) { examine(part.Field, text, add) })
		}
	}
	return slices.Compact(out)
}

// eachString calls f with every string in JSON text, names of members included.
func eachString(text string, f func(string)) {
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		if s, ok := token.(string); ok {
			f(s)
		}
	}
}

// examine looks at one text.
func examine(field, s string, add func(field string, kind FindingKind, text string)) {
	if text := around(s, isBidiControl); text != "" {
		add(field, FindingBidi, text)
	}
	if text := around(s, isHidden); text != "" {
		add(field, FindingHidden, text)
	}
	plain := strings.Map(func(r rune) rune {
		if isHidden(0, r) || isBidiControl(0, r) {
			return -1
		}
		return r
	}, s)
	for _, pattern := range instructionPatterns {
		if found := pattern.FindString(plain); found != "" {
			add(field, FindingInstructions, bounded(found, 120))
			return
		}
	}
}

// isBidiControl reports characters that turn the direction of text.
func isBidiControl(_, r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// isHidden reports characters that do not show. Joiners have a use between characters of
// many scripts and in emoji, so that they count only after what is written in Latin.
func isHidden(before, r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	switch {
	case r == '\n' || r == '\t' || r == '\r' || isBidiControl(before, r):
		return false
	case r == joiner || r == nonJoiner:
		return before <= unicode.MaxLatin1
	case unicode.Is(unicode.Variation_Selector, r):
		return r > '\ufe0f' || before <= unicode.MaxLatin1 && !strings.ContainsRune("#*0123456789©®", before)
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point)
}

// around returns what surrounds the first character of a kind, with escapes for what does
// not print; "" without one.
func around(s string, is func(before, r rune) bool) string {
	const context = 20
	runes, before := []rune(s), rune(0)
	for i, r := range runes {
		if is(before, r) {
			return strings.Trim(fmt.Sprintf("%+q", string(runes[max(0, i-context):min(len(runes), i+context)])), `"`)
		}
		before = r
	}
	return ""
}

// instructionPatterns are words that speak to a model rather than describe a tool. The list
// is short on purpose: it points a person at the crude cases, and stops nothing.
var instructionPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\s+(all\s+|any\s+|the\s+|your\s+)*(previous|prior|earlier|above|other|system)\s+(instructions?|prompts?|rules|messages?|tools?)`),
	regexp.MustCompile(`(?i)\b(do not|don't|never|without)\s+(tell(ing)?|inform(ing)?|mention(ing)?|reveal(ing)?|show(ing)?|notify(ing)?|ask(ing)?)\b[^.]{0,40}\b(user|human|person|anyone)\b`),
	regexp.MustCompile(`(?i)</?\s*(system|important|instructions?|assistant|secret|admin)\s*>`),
	regexp.MustCompile(`(?i)\b(system prompt|developer message|as an ai|you are now)\b`),
	regexp.MustCompile(`(?i)\bbefore\s+(using|calling|invoking)\s+(this|any|other|another)\s+(other\s+)?tools?\b`),
	regexp.MustCompile(`(?i)(~/\.(ssh|aws|gnupg|netrc)|\bid_(rsa|ed25519)\b|/etc/(passwd|shadow))`),
}

// lookalikes finds tools with names that look like, but are not, names of other servers'
// tools. The argument is the names by server; so is the result.
func lookalikes(names map[string][]string) map[string][]Finding {
	type owner struct{ server, tool string }
	bySkeleton := map[string][]owner{}
	for _, server := range slices.Sorted(maps.Keys(names)) {
		for _, tool := range names[server] {
			s := skeleton(tool)
			bySkeleton[s] = append(bySkeleton[s], owner{server, tool})
		}
	}
	out := map[string][]Finding{}
	for _, owners := range bySkeleton {
		for _, a := range owners {
			i := slices.IndexFunc(owners, func(b owner) bool { return b.server != a.server && b.tool != a.tool })
			if i >= 0 && len(out[a.server]) < maxFindings {
				out[a.server] = append(out[a.server], Finding{Tool: a.tool, Field: "name", Kind: FindingLookalike,
					Text: fmt.Sprintf("looks like %+q of MCP server %s", owners[i].tool, owners[i].server)})
			}
		}
	}
	for server := range out {
		slices.SortFunc(out[server], func(a, b Finding) int { return cmp.Compare(a.Tool, b.Tool) })
	}
	return out
}

// skeleton is what a name looks like: two names of one skeleton are easily confused.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		if unicode.Is(unicode.Mn, r) || isHidden(0, r) || isBidiControl(0, r) {
			continue
		}
		if latin, ok := latinLookalikes[r]; ok {
			r = latin
		}
		r = unicode.ToLower(r)
		switch r {
		case '0':
			r = 'o'
		case '1', 'i', '|':
			r = 'l'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// latinLookalikes are the letters of other scripts that common fonts draw like a Latin one.
var latinLookalikes = func() map[rune]rune {
	out := map[rune]rune{}
	for _, pair := range [][2]string{
		{"авсԁеһіјӏмопԛрѕтѵԝхуүѡ", "abcdehijlmonqpstvwxyyw"},           // Cyrillic
		{"АВЕЅІЈКМНОРСТУХԌԚԜ", "ABESIJKMHOPCTYXGQW"},                   // Cyrillic capitals
		{"αβγεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abyeiknoptuxwABEZHIKMNOPTYX"}, // Greek
		{"օոսցһհզԼՕՍ", "onughhqLOU"},                                   // Armenian
		{"ıȷɑɡɩʟɴʀꜱᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢ", "ijagilnrsacdejkmoptuvwz"},         // Latin of other shapes
	} {
		latin := []rune(pair[1])
		for i, r := range []rune(pair[0]) {
			out[r] = latin[i]
		}
	}
	return out
}()
