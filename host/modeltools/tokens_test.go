package modeltools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/namespaces"
)

// o200k reads its vocabulary once, which takes a second.
var o200k = sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) })

// tokens counts the tokens of a text as o200k_base does.
func tokens(t *testing.T, text string) int {
	t.Helper()
	codec, err := o200k()
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Words that services, their things and what is done to them are named with.
var (
	services = strings.Fields("github gitlab jira linear slack discord gmail calendar drive notion airtable stripe shopify salesforce hubspot zendesk " +
		"intercom pagerduty datadog sentry grafana postgres mysql mongo redis snowflake bigquery s3 lambda kubernetes docker terraform vercel netlify " +
		"cloudflare figma miro asana trello monday clickup confluence sharepoint outlook teams zoom twilio sendgrid mailchimp segment mixpanel amplitude " +
		"okta auth0 vault browser weather maps wikipedia arxiv youtube spotify reddit hackernews finance crypto flights hotels translate memory filesystem")
	verbs  = strings.Fields("list get create update delete search")
	things = strings.Fields("issue project comment message channel invoice customer deployment report_template webhook member_role audit_event")
)

// manyTools makes n tools as services have them, of MCP servers or else of plugins.
func manyTools(n int, mcp func(i int) bool) []catalog.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"Which one."},"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100},"include_archived":{"type":"boolean"}},"required":["id"]}`)
	tools := make([]catalog.Tool, n)
	for i := range tools {
		service := services[i%len(services)]
		if round := i / len(services) / (len(verbs) * len(things)); round > 0 {
			service += fmt.Sprint(round + 1)
		}
		at := i / len(services)
		verb, thing := verbs[at%len(verbs)], things[at/len(verbs)%len(things)]
		tools[i] = catalog.Tool{
			Name: verb + "_" + thing, Owner: service, Parameters: schema,
			Description: fmt.Sprintf("Lets you %s a %s of %s, with what belongs to it. Use it when the user names one.", verb, strings.ReplaceAll(thing, "_", " "), service),
		}
		if mcp(i) {
			tools[i].Source = catalog.SourceMCP
		} else {
			tools[i].Name = service + "_" + tools[i].Name
		}
	}
	return tools
}

// offerOf is what a model is told of tools, and of some namespaces.
func offerOf(t *testing.T, tools []catalog.Tool, spaces int) modeltools.Offer {
	t.Helper()
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	for _, tool := range c.Tools() {
		if tool.Source == catalog.SourceMCP && !slices.Contains(servers, tool.Owner) {
			servers = append(servers, tool.Owner)
		}
	}
	v := view.New(c, &namespaces.Registry{}, view.MCPServerIdentifiers(servers))
	o := modeltools.Offer{Catalog: c, MCP: func(room int) string { return view.MCPBlock(v, room) }}
	for i := range spaces {
		o.Namespaces = append(o.Namespaces, namespaces.Registration{
			GlobalName: strings.ToUpper(services[i][:1]) + services[i][1:], Description: "Everything that " + services[i] + " has: its issues, projects and comments, to read and to change.",
			Prompt: strings.Repeat("await Name.list({ state, limit }) returns them, newest first. ", 8),
		})
	}
	return o
}

// rendered is what a request carries for exec and wait.
func rendered(t *testing.T, o modeltools.Offer) string {
	t.Helper()
	exec, wait := modeltools.Definitions(o, codemode.Settings{}.WithDefaults())
	b, err := modeltools.Render(modeltools.ProviderOpenAI, []catalog.Tool{exec, wait})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func never(int) bool      { return false }
func always(int) bool     { return true }
func every2nd(i int) bool { return i%2 == 0 }

// TestPromptFitsItsBudget: the definitions of exec and wait cost at most 1,500 tokens,
// however many tools there are beyond the ones that are described one by one.
func TestPromptFitsItsBudget(t *testing.T) {
	t.Parallel()
	const most = 1500
	for _, n := range []int{101, 527, 2_000, 10_000} {
		for name, tc := range map[string]struct {
			mcp    func(int) bool
			spaces int
		}{
			"plugins": {never, 0}, "servers": {always, 0}, "both": {every2nd, 0}, "both and namespaces": {every2nd, 30},
		} {
			t.Run(fmt.Sprintf("%d tools of %s", n, name), func(t *testing.T) {
				text := rendered(t, offerOf(t, manyTools(n, tc.mcp), tc.spaces))
				got := tokens(t, text)
				if got > most {
					t.Errorf("%d tokens in %d bytes, at most %d tokens", got, len(text), most)
				}
				t.Logf("%d tokens in %d bytes", got, len(text))
			})
		}
	}
	if got := tokens(t, rendered(t, offerOf(t, nil, 0))); got > 600 {
		t.Errorf("without tools: %d tokens", got)
	}
}

// TestPromptIsStable: equal tools, in whatever order a gateway has them, give the same
// bytes in each request, so that a provider's cache of prompts holds.
func TestPromptIsStable(t *testing.T) {
	t.Parallel()
	for _, n := range []int{12, 100, 527} {
		tools := manyTools(n, every2nd)
		first := rendered(t, offerOf(t, tools, 4))
		slices.Reverse(tools)
		for range 3 {
			if again := rendered(t, offerOf(t, tools, 4)); again != first {
				t.Fatalf("%d tools: two requests differ:\n%s\n\n%s", n, first, again)
			}
		}
	}
}

// TestPromptTeachesWhatSaves: one program, in parallel, little returned, no polling.
func TestPromptTeachesWhatSaves(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 527} {
		exec, _ := modeltools.Definitions(offerOf(t, manyTools(n, never), 0), codemode.Settings{}.WithDefaults())
		for _, lesson := range []string{"in one program", "Promise.all", "Return only what matters", "Never poll", "{signal}", "tools.search"} {
			if !strings.Contains(exec.Description, lesson) {
				t.Errorf("%d tools: the description does not teach %q", n, lesson)
			}
		}
	}
}

// TestBriefPromptNamesWhatIsThere: every name of a function or a server in the prompt of
// many tools is one, and what is left out is counted.
func TestBriefPromptNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	tools := manyTools(527, never)
	for i := range tools { // of few owners
		tools[i].Owner = services[i%12]
	}
	o := offerOf(t, tools, 0)
	exec, _ := modeltools.Definitions(o, codemode.Settings{}.WithDefaults())
	_, list, ok := strings.Cut(exec.Description, "by owner (tools.search finds all):\n")
	if !ok {
		t.Fatalf("no overview in\n%s", exec.Description)
	}
	safe, named := o.Catalog.SafeNames(), 0
	for line := range strings.SplitSeq(list, "\n") {
		_, names, ok := strings.Cut(line, ": ")
		if !ok {
			t.Errorf("the line %q names no tools", line)
		}
		for name := range strings.SplitSeq(names, ", ") {
			if name == "…" {
				continue
			}
			if named++; safe[name] == "" {
				t.Errorf("tools.%s does not exist: %s", name, line)
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tools are named", named)
	}
}

// TestEstimateTokens holds the estimate against a tokenizer.
func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 100} {
		tools := manyTools(n, never)
		var estimated int64
		for i := range tools {
			estimated += modeltools.EstimateTokens(&tools[i])
		}
		b, err := modeltools.Render(modeltools.ProviderOpenAI, tools)
		if err != nil {
			t.Fatal(err)
		}
		if counted := int64(tokens(t, string(b))); estimated < counted*3/4 || estimated > counted*5/4 {
			t.Errorf("%d tools: estimated %d tokens, counted %d", n, estimated, counted)
		}
	}
}
