package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/sdk"
)

// template is the template literal of texts with values between them.
func template(t *testing.T, texts []string, values ...any) sdk.Template {
	t.Helper()
	tpl := sdk.Template{Strings: texts, Raw: texts}
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		tpl.Values = append(tpl.Values, b)
	}
	return tpl
}

// TestTemplateValuesAreWords has a real shell print the words of what templates become.
func TestTemplateValuesAreWords(t *testing.T) {
	const shell = "/bin/sh"
	for _, value := range []string{
		"", "plain", "two words", "it's", `"double"`, "$(touch owned)", "`touch owned`", "$HOME", "a;b", "a&&b", "a|b", "a>b",
		"*", "?", "~", "~root", "{a,b}", "\\", "line\nbreak", "-n", "#no comment", "a=b", "!", "if", "done", "é…", "\u202e", "2", "[a-z]", "\t", "=ls", "\x01",
	} {
		for _, place := range []struct {
			texts []string
			want  []string
		}{
			{[]string{"printf '%s\\0' ", ""}, []string{value}},
			{[]string{"printf '%s\\0' pre-", "-post next"}, []string{"pre-" + value + "-post", "next"}},
			{[]string{"X=", "; printf '%s\\0' \"$X\""}, []string{value}},
			{[]string{"printf '%s\\0' a $(printf '%s\\n' x", ") | cat"}, nil},
			{[]string{"for x in ", " b; do printf '%s\\0' \"$x\"; done"}, []string{value, "b"}},
		} {
			in, err := fromTemplate(t.Context(), sdk.RunContext{}, template(t, place.texts, value))
			if err != nil {
				t.Errorf("%q in %q: %v", value, place.texts, err)
				continue
			}
			if place.want == nil {
				continue
			}
			cmd := exec.Command(shell, "-c", in.(execInput).Command)
			cmd.Dir = t.TempDir()
			out, err := cmd.Output()
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, place.want) {
				t.Errorf("%s\nprinted %q, want %q (%v)", in.(execInput).Command, got, place.want, err)
			}
		}
	}
}

func TestTemplateCommands(t *testing.T) {
	for _, c := range []struct {
		texts  []string
		values []any
		want   string
	}{
		{[]string{"ls"}, nil, "ls"},
		{[]string{"grep ", " *.md"}, []any{"two words"}, "grep 'two words' *.md"},
		{[]string{"head -n ", " ", ""}, []any{5, "a.txt"}, "head -n 5 a.txt"},
		{[]string{"echo ", ""}, []any{true}, "echo true"},
		{[]string{"rm -- ", ""}, []any{[]string{"a b", "c"}}, "rm -- 'a b' c"},
		{[]string{"echo ", ">out"}, []any{2}, "echo '2'>out"},
		{[]string{"a ", "", ""}, []any{"b", "c"}, "a bc"},
		{[]string{`sed 's/\s//' `, ""}, []any{"f"}, `sed 's/\s//' f`},
	} {
		in, err := fromTemplate(t.Context(), sdk.RunContext{}, template(t, c.texts, c.values...))
		if err != nil || in.(execInput).Command != c.want {
			t.Errorf("%q: %v %v, want %q", c.texts, in, err, c.want)
		}
	}
}

func TestTemplatesThatCannotQuote(t *testing.T) {
	for name, tpl := range map[string]sdk.Template{
		"double quotes":          template(t, []string{`echo "`, `"`}, "$(id)"),
		"single quotes":          template(t, []string{`echo '`, `'`}, "x"),
		"backslash":              template(t, []string{`echo \`, ``}, "$(id)"),
		"parameter":              template(t, []string{`echo $`, ``}, "HOME"),
		"parameter in braces":    template(t, []string{`echo ${X:-`, `}`}, "$(id)"),
		"arithmetic":             template(t, []string{`echo $((1+`, `))`}, "x[$(id)]"),
		"here-document":          template(t, []string{"cat <<E\n", "\nE\n"}, "$(id)"),
		"quoted here-document":   template(t, []string{"cat <<'E'\n", "\nE\n"}, "E\nid"),
		"name of here-document":  template(t, []string{"cat <<", "\nE\n"}, "E"),
		"here-string in quotes":  template(t, []string{`cat <<<"`, `"`}, "x"),
		"comment":                template(t, []string{"ls # ", ""}, "\nid"),
		"backquotes":             template(t, []string{"echo `ls ", "`"}, "x"),
		"test":                   template(t, []string{"[[ -v ", " ]]"}, "a[$(id)]"),
		"name of a variable":     template(t, []string{"", "=1 ls"}, "PATH"),
		"name of a function":     template(t, []string{"", "() { ls; }"}, "f"),
		"no command":             template(t, []string{"if ", ""}, "x"),
		"quotes that do not end": template(t, []string{`echo "a `, ``}, "b"),
		"extended pattern":       template(t, []string{"ls @(a|", ")"}, "b"),
		"null":                   template(t, []string{"echo ", ""}, nil),
		"object":                 template(t, []string{"echo ", ""}, map[string]int{"a": 1}),
		"list in a list":         template(t, []string{"echo ", ""}, [][]int{{1}}),
		"NUL":                    template(t, []string{"echo ", ""}, "a\x00b"),
		"long":                   template(t, []string{"echo ", ""}, strings.Repeat("x", 5000)),
	} {
		in, err := fromTemplate(context.Background(), sdk.RunContext{}, tpl)
		var e *sdk.Error
		if !errors.As(err, &e) || e.Code != codeTemplate {
			t.Errorf("%s: %v, %v", name, in, err)
		}
	}
}

// FuzzTemplate: whatever the texts and the value are, the result has the value as it is,
// or is refused.
func FuzzTemplate(f *testing.F) {
	f.Add("printf %s ", "", "a b")
	f.Add(`echo "`, `"`, "$(id)")
	f.Add("cat <<E\n", "\nE\n", "E\nid")
	f.Add("echo $", "", "'a'")
	f.Fuzz(func(t *testing.T, before, after, value string) {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		in, err := fromTemplate(context.Background(), sdk.RunContext{}, sdk.Template{Raw: []string{before, after}, Values: []json.RawMessage{b}})
		if err != nil {
			return
		}
		// A word takes the place of another: the shell reads the same commands.
		same, err := fromTemplate(context.Background(), sdk.RunContext{}, sdk.Template{Raw: []string{before, after}, Values: []json.RawMessage{[]byte(`"'"`)}})
		if err != nil {
			t.Fatalf("%q is accepted with %q and refused with a quote: %v", before+"…"+after, value, err)
		}
		if a, b := shape(t, in.(execInput).Command), shape(t, same.(execInput).Command); a != b {
			t.Errorf("%q: the value changes what is read: %s, %s", in.(execInput).Command, a, b)
		}
	})
}

// shape is how a shell reads a command, without what is in quotes.
func shape(t *testing.T, command string) string {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	var b strings.Builder
	words := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Lit, *syntax.SglQuoted:
			return true
		case *syntax.Word:
			words++
			return true
		default:
			fmt.Fprintf(&b, "%T ", n)
		}
		return true
	})
	return fmt.Sprintf("%d words, %s", words, b.String())
}

// TestValuesOfTemplatesAreNotRead: a shell would run what an index of an array says even
// in quotes, and split a list in braces.
func TestValuesOfTemplatesAreNotRead(t *testing.T) {
	if _, err := fromTemplate(t.Context(), sdk.RunContext{}, template(t, []string{"a[", "]=x"}, "b[$(id)]")); err == nil {
		t.Error("a value is the index of an array")
	}
	in, err := fromTemplate(t.Context(), sdk.RunContext{}, template(t, []string{"echo {a,", "}"}, "b,c"))
	if want := "echo {a,'b,c'}"; err != nil || in.(execInput).Command != want {
		t.Errorf("%v, %v, want %s", in, err, want)
	}
}
