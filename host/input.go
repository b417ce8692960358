package host

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
)

// ExecInput is what a model gives to exec.
type ExecInput struct {
	// Code is the program. Command is an alias of it for hook policies; when
	// both are given they must be equal, and a blank alias is ignored.
	Code, Command string
	// Language is "javascript" (the default) or "typescript".
	Language string
	// Title says in a few words what the program is for. It is not interpreted.
	Title string
	// Tools are the caller's own, for this run alone; Source is left out and Owner
	// defaults to "client". Calls of a tool with Invoke are answered by it, as long
	// as this process lives. Calls of a tool without Invoke are answered by Answer:
	// once the program waits for nothing else, the run is waiting, with these calls
	// and their inputs in PendingToolCalls.
	Tools []catalog.Tool
	// Rules narrow what the run reaches beyond Config.Rules, its own Tools included.
	Rules policy.Rules
	// Timeout shortens Settings.Timeout for this call. Zero means no change.
	Timeout time.Duration

	turn *view.ClientTools // of the Surface that the call came through
}

// program returns the program, which may stand in either of two fields.
func (in ExecInput) program() (code string, _ *failure) {
	code = in.Code
	if strings.TrimSpace(in.Command) != "" {
		if strings.TrimSpace(code) != "" && code != in.Command {
			return "", failf(CodeInvalidInput, "", PhaseInput, "code and command differ. Give the program in code alone.")
		}
		code = in.Command
	}
	if strings.TrimSpace(code) == "" {
		return "", failf(CodeInvalidInput, "", PhaseInput, "code is missing or empty. %s", codemode.ExecUsage)
	}
	if !utf8.ValidString(code) {
		return "", failf(CodeInvalidInput, "", PhaseInput, "code is not UTF-8 text. Give the program as UTF-8.")
	}
	return code, nil
}

// source returns the program and its language, or what is wrong with them.
func (in ExecInput) source(s Settings) (code, language string, _ *failure) {
	code, f := in.program()
	if f != nil {
		return "", "", f
	}
	language = in.Language
	if language == "" {
		language = codemode.LanguageJavaScript
	}
	if language != codemode.LanguageJavaScript && language != codemode.LanguageTypeScript {
		return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
			"language %q is not supported: use %q or %q.", text.Cut(language, 64), codemode.LanguageJavaScript, codemode.LanguageTypeScript)
	}
	for _, l := range s.Languages {
		if l == language {
			return code, language, nil
		}
	}
	return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
		"code mode %s input is disabled: use %s.", language, strings.Join(s.Languages, " or "))
}
