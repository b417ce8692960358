package repotest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// troubleshooting is the page of messages, codes and reasons.
const troubleshooting = "docs/guide/troubleshooting.md"

// codeSources are the files with constants that are codes, by what they are codes of. A
// constant counts if its name has the prefix.
var codeSources = []struct{ of, file, prefix string }{
	{"result", "host/codemode/error.go", "Code"},
	{"reason of a result", "host/codemode/error.go", "Reason"},
	{"call", "host/internal/runs/fault/rejection.go", "Code"},
	{"call", "host/internal/runs/pipeline/guest_files.go", "code"},
	{"call", "host/internal/runs/pipeline/saved_programs.go", "code"},
	{"call", "host/programs/errors.go", ""},
	{"call of a plugin", "plugins/protocol/errors.go", "Code"},
	{"call of Shell", "plugins/shell/policy.go", "code"},
	{"call of Shell", "plugins/shell/template.go", "code"},
	{"call of Shell", "internal/shell/sessions/error.go", "Code"},
	{"HTTP problem", "host/gateway/problem.go", "Problem"},
}

// statusCode is one word that tells a failure from others.
type statusCode struct{ word, of, meaning string }

// kindOf is the class of an error that a comment names before what the error means.
var kindOf = regexp.MustCompile(`^Kind[A-Za-z]+(?:: )?`)

// codesIn returns the codes of a file, each with the comment behind it.
func codesIn(t *testing.T, of, file, prefix string) (all []statusCode) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if len(value.Values) != 1 || !strings.HasPrefix(value.Names[0].Name, prefix) {
				continue
			}
			text, ok := value.Values[0].(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				continue
			}
			word, err := strconv.Unquote(text.Value)
			meaning := kindOf.ReplaceAllString(strings.TrimSpace(value.Comment.Text()), "")
			if err != nil || meaning == "" {
				t.Errorf("%s: say behind %s what %s means", file, value.Names[0].Name, text.Value)
			}
			all = append(all, statusCode{word, of, meaning})
		}
	}
	if len(all) == 0 {
		t.Errorf("%s has no codes", file)
	}
	return all
}

// TestCodesAreListed pins the index of codes and reasons.
func TestCodesAreListed(t *testing.T) {
	all := []statusCode{{"program_error", "metric, log, event", "the program has thrown, or did not catch the error of a tool; its result says `internal_error`"}}
	for _, s := range codeSources {
		all = append(all, codesIn(t, s.of, s.file, s.prefix)...)
	}
	slices.SortStableFunc(all, func(a, b statusCode) int { return cmp.Compare(a.word, b.word) })
	var b strings.Builder
	b.WriteString("\n| code | of | means |\n|---|---|---|\n")
	for _, c := range slices.Compact(all) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.word, c.of, strings.ReplaceAll(c.meaning, "|", "\\|"))
	}
	b.WriteString("\n")
	goldenPart(t, troubleshooting, "codes", b.String())
}

// shownMessage is a message in the first column of a table.
var shownMessage = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestMessagesOfTroubleshootingExist checks that production code says each message of the
// page. An ellipsis stands for what differs from time to time.
func TestMessagesOfTroubleshootingExist(t *testing.T) {
	text := pages(t)[troubleshooting]
	byHand, _, _ := strings.Cut(text, "<!-- generated:")
	said := passages(t)
	found := shownMessage.FindAllStringSubmatch(byHand, -1)
	if len(found) < 20 {
		t.Fatalf("the page has %d messages", len(found))
	}
	for _, m := range found {
		parts := strings.Split(m[1], "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
		}
		re := regexp.MustCompile(strings.Join(parts, "(?s:.*)"))
		if !slices.ContainsFunc(said, func(p passage) bool { return p.kind == "message" && re.MatchString(p.text) }) {
			t.Errorf("%s: no production code says %q", troubleshooting, m[1])
		}
	}
}
