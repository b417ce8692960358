package benchmodels

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/namespaces"
)

// mistake is a first program that fails, what of its error leads on, and the second
// program.
type mistake struct {
	name, first, second string
	leads               []string
}

// readMistakes reads testdata/mistakes.txtar: in each file the first program, a line
// "=> " with the words of the error, and the second program.
func readMistakes(t testing.TB) (all []mistake) {
	t.Helper()
	archive := txtar.Parse([]byte(readFile(t, "mistakes.txtar")))
	for _, f := range archive.Files {
		first, rest, ok := strings.Cut(string(f.Data), "\n=> ")
		leads, second, more := strings.Cut(rest, "\n")
		if !ok || !more {
			t.Fatalf("%s has no line of words", f.Name)
		}
		all = append(all, mistake{f.Name, first, strings.TrimSpace(second), strings.Split(leads, " | ")})
	}
	return all
}

// TestFirstMistakes replays what models get wrong at first: the error must have the
// words that lead on, all new names of the second program must stand in it, and the
// second program must succeed.
func TestFirstMistakes(t *testing.T) {
	t.Parallel()
	mistakes := readMistakes(t)
	if len(mistakes) < 40 {
		t.Errorf("there are %d mistakes, want 40", len(mistakes))
	}
	turn := request(t, mistakeHost(t), nil)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			shown := runProgram(t, turn, m.first)
			if strings.Contains(shown, "completed ") {
				t.Fatalf("the first program succeeds: %s", shown)
			}
			for _, words := range m.leads {
				if !strings.Contains(shown, words) {
					t.Errorf("the error does not say %q:\n%s", words, shown)
				}
			}
			for _, name := range newNames(m.first, m.second) {
				if !strings.Contains(shown, name) {
					t.Errorf("the second program has the new name %s, which the error does not say:\n%s", name, shown)
				}
			}
			if shown := runProgram(t, turn, m.second); !strings.Contains(shown, "completed ") {
				t.Errorf("the second program fails: %s", shown)
			}
		})
	}
}

var quotedText = regexp.MustCompile(`"[^"\n]*"`)

var identifier = regexp.MustCompile(`[A-Za-z_$][\w$]+`)

// plainWords are the words of the language and of the globals that the description of exec
// names: a model knows them without an error.
var plainWords = strings.Fields(`Array JSON Object Promise String Number all async await catch const else for function if in let map new null of
	return search text tools then throw true try typeof undefined while parse stringify length slice push join filter keys values entries text`)

// newNames are the names of the second program that the first does not have.
func newNames(first, second string) []string {
	first, second = quotedText.ReplaceAllString(first, ""), quotedText.ReplaceAllString(second, "")
	known := append(identifier.FindAllString(first, -1), plainWords...)
	var found []string
	for _, name := range identifier.FindAllString(second, -1) {
		if !slices.Contains(known, name) {
			found = append(found, name)
		}
	}
	return found
}

// runProgram returns what a model reads of a program.
func runProgram(t testing.TB, turn *host.ModelTools, code string) string {
	t.Helper()
	arguments, err := jsontext.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := turn.Visible[slices.Index(turn.Names(), modeltools.Exec)].Invoke(context.Background(), catalog.Invocation{Input: arguments})
	if err != nil {
		t.Fatal(err)
	}
	var fields struct{ Status, Error, Next string }
	if err := json.Unmarshal(answer, &fields); err != nil {
		t.Fatal(err)
	}
	return fields.Status + " " + fields.Error + " " + fields.Next
}

// mistakeHost has tools, a namespace and an MCP server.
func mistakeHost(t testing.TB) *host.Host {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: guest}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:      mistakeTools(t),
		Namespaces: []namespaces.Registration{notes()},
		MCP:        host.MCPConfig{Servers: []mcp.Server{{Name: "hub", URL: hub(t)}}, Wait: time.Minute},
		Settings:   host.Settings{MaxOutput: 4096},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// hub is the address of an MCP server with two tools.
func hub(t testing.TB) string {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "hub", Version: "1"}, nil)
	type issue struct {
		Title  string   `json:"title"`
		Labels []string `json:"labels,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "create_issue", Description: "Opens an issue."},
		func(context.Context, *sdk.CallToolRequest, issue) (*sdk.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"number": 7}, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "list_labels", Description: "Lists the labels."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"labels": []string{"bug", "question"}}, nil
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	return web.URL
}

// notes returns a namespace with verbs that take positional arguments.
func notes() namespaces.Registration {
	positional := func(tool string, names ...string) namespaces.Call {
		return namespaces.Call{Tool: tool, Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: names}}
	}
	return namespaces.Registration{
		PluginID: "notes", ID: "notes", GlobalName: "Notes", Description: "Short notes.", RequiredTools: []string{"notes_get", "notes_append"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			return map[string]any{
				"get": positional("notes_get", "name"), "append": positional("notes_append", "name", "line"),
				"archive": map[string]any{"get": positional("notes_get", "name")},
			}, nil
		},
	}
}

// mistakeTools are those that the programs of testdata/mistakes.txtar mean.
func mistakeTools(t testing.TB) []catalog.Tool {
	t.Helper()
	answer := func(value string) func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return func(context.Context, catalog.Invocation) (json.RawMessage, error) { return json.RawMessage(value), nil }
	}
	long := `["` + strings.Repeat("many words ", 2000) + `","last"]`
	return []catalog.Tool{
		{Name: "list_issues", Description: "Lists issues, a page at a time.", ReadOnly: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"state":{"enum":["open","closed"]},"labels":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer","minimum":1,"maximum":100},"filter":{"type":"object","properties":{"author":{"type":"string"}},"additionalProperties":false}},"additionalProperties":false}`),
			Output:     json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}},"next":{"type":"string"}},"required":["items"]}`),
			Invoke:     answer(`{"items":[{"id":1,"title":"one"},{"id":2,"title":"two"}]}`)},
		{Name: "get_issue", Description: "Returns an issue.", ReadOnly: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"issue_id":{"type":"integer"},"since":{"type":"string","format":"date-time"}},"required":["issue_id"],"additionalProperties":false}`),
			Invoke:     answer(`{"id":1,"title":"one","author":{"name":"Ada"}}`)},
		{Name: "read_page", Description: "Returns a long page.", ReadOnly: true, Invoke: answer(long)},
		{Name: "send", Owner: "mail", Description: "Sends an email.", Invoke: answer(`"sent"`)},
		{Name: "send", Owner: "chat", Description: "Sends a message.", Invoke: answer(`"sent"`)},
		{Name: "notes_get", Owner: "notes", Description: "Returns a note.", ReadOnly: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`),
			Invoke:     answer(`{"name":"todo","lines":["one","two"]}`)},
		{Name: "notes_append", Owner: "notes", Description: "Adds a line to a note.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"line":{"type":"string"}},"required":["name","line"],"additionalProperties":false}`),
			Invoke:     answer(`null`)},
	}
}
