package host

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/codemode"
)

func TestParseExec(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, args string
		want       ExecInput
	}{
		{"the program alone", `{"code":"return 1"}`, ExecInput{Code: "return 1"}},
		{"every field", ` {"code":"return 1","language":"typescript","title":"One"} `, ExecInput{Code: "return 1", Language: "typescript", Title: "One"}},
		{"the alias", `{"command":"return 1"}`, ExecInput{Command: "return 1"}},
		{"both, equal", `{"code":"return 1","command":"return 1"}`, ExecInput{Code: "return 1", Command: "return 1"}},
		{"a blank alias", `{"code":"return 1","command":"  \n"}`, ExecInput{Code: "return 1", Command: "  \n"}},
		{"null for what is left out", `{"code":"return 1","command":null,"language":null,"title":null}`, ExecInput{Code: "return 1"}},
		{"escapes", `{"code":"return \"\u00e9\""}`, ExecInput{Code: `return "é"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseExec([]byte(tc.args))
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestParseExecRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, args, want string }{
		{"nothing", ``, "code is missing"},
		{"no code", `{}`, "code is missing"},
		{"blank code", `{"code":" \n"}`, "code is missing or empty"},
		{"null code", `{"code":null}`, "code is missing"},
		{"number for code", `{"code":7}`, "code is a number, not a string"},
		{"list for code", `{"code":["return 1"]}`, "code is a list"},
		{"object for code", `{"code":{}}`, "code is an object"},
		{"flag for the language", `{"code":"return 1","language":true}`, "language is a boolean"},
		{"number for the alias", `{"code":"return 1","command":1}`, "command is a number"},
		{"code and another command", `{"code":"return 1","command":"return 2"}`, "code and command differ"},
		{"another field", `{"code":"return 1","script":"x"}`, `no field "script"`},
		{"another spelling", `{"Code":"return 1"}`, `no field "Code"`},
		{"code twice", `{"code":"return 1","code":"return 2"}`, `"code" is given twice`},
		{"a string", `"return 1"`, "a string, not an object"},
		{"a list", `[]`, "a list, not an object"},
		{"null", `null`, "null, not an object"},
		{"no JSON", `{code:"return 1"}`, "not JSON"},
		{"two values", `{"code":"return 1"}{}`, "not JSON"},
		{"half a pair", `{"code":"return '\ud83d'"}`, `code holds half of a surrogate pair, such as \ud83d alone`},
		{"no UTF-8", "{\"code\":\"\xff\"}", "not UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := ParseExec([]byte(tc.args))
			var e *Error
			if !errors.As(err, &e) || e.Code != codemode.CodeInvalidInput || e.Phase != codemode.PhaseInput {
				t.Fatalf("got %+v, %v; want invalid_input", in, err)
			}
			if !strings.Contains(e.Message, tc.want) {
				t.Errorf("%q does not say %q", e.Message, tc.want)
			}
			if !strings.Contains(e.Message, "Send {") && !strings.Contains(e.Message, "Give the program") {
				t.Errorf("%q does not say what to send", e.Message)
			}
		})
	}
}

func TestParseWait(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"runId":"run_1"}`:    "run_1",
		`{"runId":" run_1\n"}`: "run_1",
	} {
		if got, err := ParseWait([]byte(args)); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", args, got, err, want)
		}
	}
	for args, want := range map[string]string{
		``:                          "runId is missing",
		`{}`:                        "runId is missing",
		`{"runId":" "}`:             "runId is missing",
		`{"runId":null}`:            "runId is missing",
		`{"runId":1}`:               "runId is a number",
		`{"sessionId":"42"}`:        `no field "sessionId"`,
		`{"runId":"a","timeout":1}`: `no field "timeout"`,
		`{"runId":"a","runId":"b"}`: "given twice",
		`"run_1"`:                   "a string, not an object",
		`{"runId":"a"`:              "not JSON",
	} {
		_, err := ParseWait([]byte(args))
		var e *Error
		if !errors.As(err, &e) || e.Code != codemode.CodeInvalidInput || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "Send {") {
			t.Errorf("%s: got %v, want invalid_input saying %q", args, err, want)
		}
	}
}

// FuzzParseExec: whatever a model sends is read or refused in bounded words.
func FuzzParseExec(f *testing.F) {
	for _, s := range []string{`{"code":"return 1"}`, `{"code":"a","command":"a","language":"typescript","title":"t"}`, `{}`, `[]`, `{"runId":"run_1"}`, "{\"\\ud800\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		in, err := ParseExec(args)
		checkParse(t, err)
		if err == nil {
			code, problem := in.forEngine().Program()
			if problem != nil || code == "" || !utf8.ValidString(code) {
				t.Errorf("accepted %q as %+v", args, in)
			}
			again, merr := json.Marshal(map[string]string{"code": in.Code, "command": in.Command, "language": in.Language, "title": in.Title})
			if back, err := ParseExec(again); merr != nil || err != nil || !reflect.DeepEqual(back, in) {
				t.Errorf("%s reads as %+v, %v; want %+v", again, back, err, in)
			}
		}
		id, err := ParseWait(args)
		checkParse(t, err)
		if (id == "") == (err == nil) {
			t.Errorf("ParseWait returned %q and %v", id, err)
		}
	})
}

func checkParse(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Code != codemode.CodeInvalidInput || len(e.Message) > 1024 || !utf8.ValidString(e.Message)) {
		t.Errorf("refused with %#v", err)
	}
}
