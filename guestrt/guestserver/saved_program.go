package guestserver

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/quoinhq/quoin/internal/wire"
)

// A saved program is a cell with two names more: its input, and a programs object of its
// own. They are parameters of a function around it, so that the program may declare
// variables of these names.
const programHead = "((input,programs)=>async()=>{"

// printedProgramHead is how the transform prints programHead.
var printedProgramHead = regexp.MustCompile(`\(\(input, ?programs\) ?=> ?async ?\(\) ?=> ?\{`)

// savedProgram makes a script of the document that the host has of a saved program. A
// program that this guest does not take becomes a script that throws.
func savedProgram(document []byte) []byte {
	var saved struct{ Language, Code string }
	if err := json.Unmarshal(document, &saved); err != nil {
		return throwing(refuse("", "the saved program cannot be read"))
	}
	lang, refusal := parseLanguage(saved.Language)
	if refusal != nil {
		return throwing(refusal)
	}
	source := withoutHashbang(saved.Code)
	program := programHead + source + wrapTail
	if lang == typescript {
		if program, _, refusal = transformIn(wrapping{programHead, printedProgramHead}, source); refusal != nil {
			return throwing(refusal)
		}
	}
	if mentionsModules(program) {
		if _, found := findModules(program); found {
			return throwing(refuseModules(&positions{lang: lang, unmapped: true}, place{}))
		}
	}
	return []byte(program)
}

// throwing is a script that throws what is wrong with a saved program.
func throwing(e *wire.GuestError) []byte {
	message, err := json.Marshal("the saved program is not one: " + e.Message)
	if err != nil {
		message = []byte(`"the saved program is not one"`)
	}
	return fmt.Appendf(nil, `(()=>{throw Object.assign(new Error(%s),{code:"invalid_program"})})()`, message)
}
