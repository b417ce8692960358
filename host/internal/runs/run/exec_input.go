package run

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
)

// Input is what a caller gives to Exec. For the fields see host.ExecInput.
type Input struct {
	Code, Command, Language, Title string
	Tools                          []catalog.Tool
	Rules                          policy.Rules
	Timeout, Wait                  time.Duration
	Request                        *view.ClientTools // of the model request that the call came through
	MaxOutput                      int64             // in place of the bound in the settings; 0: no change
	RunID                          string            // of the run; "": a new one
	IdempotencyKey                 string            // of the calls of the run, which are of one tool; "": each has its own
}

// Program returns the program, which may stand in either of two fields.
func (in Input) Program() (code string, _ *codemode.Error) {
	code = in.Code
	if strings.TrimSpace(in.Command) != "" {
		if strings.TrimSpace(code) != "" && code != in.Command {
			return "", codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "code and command differ. Give the program in code alone.")
		}
		code = in.Command
	}
	if strings.TrimSpace(code) == "" {
		return "", codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "code is missing or empty. %s", codemode.ExecUsage)
	}
	if !utf8.ValidString(code) {
		return "", codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "code is not UTF-8 text. Give the program as UTF-8.")
	}
	return code, nil
}

// Source returns the program and its language, or what is wrong with them.
func (in Input) Source(s codemode.Settings) (code, language string, _ *codemode.Error) {
	code, f := in.Program()
	if f != nil {
		return "", "", f
	}
	language = in.Language
	if language == "" {
		language = codemode.LanguageJavaScript
	}
	if language != codemode.LanguageJavaScript && language != codemode.LanguageTypeScript {
		return "", "", codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonUnsupportedLanguage, codemode.PhaseInput,
			"language %q is not supported: use %q or %q.", text.Cut(language, 64), codemode.LanguageJavaScript, codemode.LanguageTypeScript)
	}
	for _, l := range s.Languages {
		if l == language {
			return code, language, nil
		}
	}
	return "", "", codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonUnsupportedLanguage, codemode.PhaseInput,
		"code mode %s input is disabled: use %s.", language, strings.Join(s.Languages, " or "))
}

// OwnLanguage is the language of a program that the host has written, which is one in
// JavaScript and in TypeScript.
func OwnLanguage(s codemode.Settings) string {
	if slices.Contains(s.Languages, codemode.LanguageJavaScript) {
		return codemode.LanguageJavaScript
	}
	return codemode.LanguageTypeScript
}
