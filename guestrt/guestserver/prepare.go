package guestserver

import (
	"encoding/json"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// prepared is a cell the engine can load.
type prepared struct {
	cell engine.Cell
	at   positions
}

// prepare turns a submitted cell into one for the engine, or says why it is
// refused. JavaScript that does not parse passes here and is refused by the
// engine; syntaxError then completes the engine's answer.
func prepare(c wire.Cell) (prepared, *wire.GuestError) {
	lang, refusal := parseLanguage(c.Language)
	if refusal != nil {
		return prepared{}, refusal
	}
	c.Source = withoutHashbang(c.Source)
	if strings.TrimSpace(c.Source) == "" {
		return prepared{}, refuse("", "the code is empty; pass a JavaScript program that returns a value")
	}
	if strings.HasPrefix(strings.TrimSpace(c.Source), fence) {
		return prepared{}, refuse(wire.ReasonSyntaxError, "the code is inside a Markdown fence; send it alone, without the lines of "+fence)
	}
	if plainShell(c.Source, c.Namespaces) {
		return prepared{}, refuseShell()
	}
	p := prepared{at: positions{lang: lang}}
	program := wrap(c.Source)
	if lang == typescript {
		if program, p.at.sourceMap, refusal = transform(c.Source); refusal != nil {
			return prepared{}, refusal
		}
	}
	if mentionsModules(program) {
		if where, found := findModules(program); found {
			if _, broken := bareProblem(c.Source, api.LoaderJS); broken && looksLikeShell(c.Source) {
				return prepared{}, refuseShell()
			}
			return prepared{}, refuseModules(&p.at, where)
		}
	}
	config, err := guestConfig(c, lang)
	if err != nil {
		return prepared{}, refuse("", err.Error())
	}
	p.cell = engine.Cell{Source: []byte(program), FileName: lang.file(), Config: config}
	return p, nil
}

// fence is what Markdown puts around code. Models copy it, and at the start of
// a program it is two tagged templates, which no program means to call.
const fence = "```"

func parseLanguage(name string) (language, *wire.GuestError) {
	switch name {
	case "javascript":
		return javascript, nil
	case "typescript":
		return typescript, nil
	}
	return 0, refuse(wire.ReasonUnsupportedLanguage, "code mode runs javascript and typescript, not "+quote(name))
}

// guestConfig is the document the guest prelude starts with.
func guestConfig(c wire.Cell, lang language) ([]byte, error) {
	type limits struct {
		MaxValueBytes  uint32 `json:"maxValueBytes"`
		MaxNodes       uint32 `json:"maxNodes"`
		MaxDepth       uint32 `json:"maxDepth"`
		MaxOutputItems uint32 `json:"maxOutputItems"`
	}
	l := c.Limits
	namespaces := make([][2]string, len(c.Namespaces))
	for i, n := range c.Namespaces {
		namespaces[i] = [2]string{n.Global, n.ID}
	}
	return json.Marshal(struct {
		File       string      `json:"file"`
		Namespaces [][2]string `json:"namespaces"`
		Limits     limits      `json:"limits"`
	}{lang.file(), namespaces, limits{l.MaxValueBytes, l.MaxNodes, l.MaxDepth, l.MaxOutputItems}})
}

// refuse says that a cell is not a program code mode runs.
func refuse(reason, message string) *wire.GuestError {
	return &wire.GuestError{Name: "Error", Message: message, Code: wire.CodeInvalidInput, Reason: reason, Phase: wire.PhaseInput}
}

func refuseShell() *wire.GuestError {
	return refuse(wire.ReasonShellCommand, "this looks like a shell command, and exec runs JavaScript, not a shell; "+
		"write JavaScript that calls tools, for example: return await tools.search(\"files\")")
}

// quote bounds a name of the caller's before it goes into a message.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = text.Cut(s, most) + "..."
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "?"
	}
	return string(b)
}
