package policy

import (
	"errors"
	"strings"
	"testing"
)

var (
	shell   = Tool{"quoin", "core", "exec"}
	create  = Tool{"quoin", "calendar", "create"}
	list    = Tool{"quoin", "calendar", "list_events"}
	github  = Tool{"mcp", "github", "create_issue"}
	chooser = Tool{"client", "client", "select:file"}
	odd     = Tool{"quoin", "core", "what?*"}
	every   = []Tool{shell, create, list, github, chooser, odd}
)

func TestRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rules Rules
		leave []Tool
	}{
		{"nothing said", Rules{}, every},
		{"deny a name", Rules{Deny: []string{"exec"}}, []Tool{create, list, github, chooser, odd}},
		{"names are whole", Rules{Deny: []string{"create", "list"}}, []Tool{shell, list, github, chooser, odd}},
		{"and tell case", Rules{Deny: []string{"EXEC", "owner:Calendar"}}, every},
		{"deny a glob", Rules{Deny: []string{"*create*"}}, []Tool{shell, list, chooser, odd}},
		{"one character", Rules{Deny: []string{"exe?", "creat?"}}, []Tool{list, github, chooser, odd}},
		{"deny an id", Rules{Deny: []string{"quoin:core:exec"}}, []Tool{create, list, github, chooser, odd}},
		{"the id of another owner", Rules{Deny: []string{"quoin:calendar:exec"}}, every},
		{"ids with globs", Rules{Deny: []string{"*:*:create*"}}, []Tool{shell, list, chooser, odd}},
		{"a star ends with its part", Rules{Deny: []string{"quoin:*create:x", "quoin:c*:list_*"}}, []Tool{shell, create, github, chooser, odd}},
		{"deny an owner", Rules{Deny: []string{"owner:calendar"}}, []Tool{shell, github, chooser, odd}},
		{"owners with globs", Rules{Deny: []string{"owner:c*"}}, []Tool{github}},
		{"deny a source", Rules{Deny: []string{"source:mcp", "source:client"}}, []Tool{shell, create, list, odd}},
		{"a name with a colon", Rules{Deny: []string{"name:select:*"}}, []Tool{shell, create, list, github, odd}},
		{"an id of a name with a colon", Rules{Deny: []string{"client:client:select:file"}}, []Tool{shell, create, list, github, odd}},
		{"escapes", Rules{Deny: []string{`what\?\*`}}, []Tool{shell, create, list, github, chooser}},
		{"escaped text is literal", Rules{Deny: []string{`exe\?`, `\*`}}, every},
		{"allow", Rules{Allow: []string{"owner:calendar"}}, []Tool{create, list}},
		{"deny wins", Rules{Allow: []string{"*"}, Deny: []string{"exec", "source:mcp"}}, []Tool{create, list, chooser, odd}},
		{"also over an exact id", Rules{Allow: []string{"quoin:core:exec"}, Deny: []string{"owner:core"}}, nil},
		{"an allow list that matches nothing", Rules{Allow: []string{"absent"}}, nil},
		{"an allow list that is there and empty", Rules{Allow: []string{}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := tc.rules.Compile()
			if err != nil {
				t.Fatal(err)
			}
			layers := Layers(nil).With(l)
			for _, tool := range every {
				want := false
				for _, w := range tc.leave {
					want = want || w == tool
				}
				if got := layers.Allows(tool); got != want {
					t.Errorf("%v: allowed is %v, want %v", tool, got, want)
				}
			}
		})
	}
}

// TestScopesOnlyNarrow: an agent's or a session's rules take away from what the
// host's rules leave, and never give back.
func TestScopesOnlyNarrow(t *testing.T) {
	t.Parallel()
	p, err := Scopes{
		Rules:    Rules{Deny: []string{"exec"}},
		Agents:   map[string]Rules{"scout": {Allow: []string{"*"}, Deny: []string{"source:mcp"}}, "free": {Allow: []string{"exec", "create*"}}},
		Sessions: map[string]Rules{"guest": {Allow: []string{"owner:calendar", "exec", "source:mcp"}}},
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		agent, session string
		leave          []Tool
	}{
		{"", "", []Tool{create, list, github, chooser, odd}},
		{"unknown", "unknown", []Tool{create, list, github, chooser, odd}},
		{"scout", "", []Tool{create, list, chooser, odd}},
		{"free", "", []Tool{create, github}},
		{"", "guest", []Tool{create, list, github}},
		{"scout", "guest", []Tool{create, list}},
		{"free", "guest", []Tool{create, github}},
	} {
		layers := p.For(tc.agent, tc.session)
		for _, tool := range every {
			want := false
			for _, w := range tc.leave {
				want = want || w == tool
			}
			if got := layers.Allows(tool); got != want {
				t.Errorf("agent %q, session %q, %v: allowed is %v, want %v", tc.agent, tc.session, tool, got, want)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	compile := func(r Rules) *Layer {
		t.Helper()
		l, err := r.Compile()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := compile(Rules{Deny: []string{"a", "b"}}), compile(Rules{Deny: []string{"b", "a"}})
	c := compile(Rules{Allow: []string{"a", "b"}})
	if l := compile(Rules{Deny: []string{}}); l != nil || (Layers{}).With(l).Key() != "" {
		t.Error("rules that say nothing have a layer")
	}
	if none := compile(Rules{Allow: []string{}, Deny: []string{"a", "b"}}); (Layers{none}).Key() == (Layers{a}).Key() {
		t.Error("an empty allow list has the key of none")
	}
	if (Layers{a}).Key() != (Layers{b}).Key() || (Layers{a, b}).Key() != (Layers{a}).Key() || (Layers{a, c}).Key() != (Layers{c, b}).Key() {
		t.Error("rules that say the same have different keys")
	}
	if (Layers{a}).Key() == (Layers{c}).Key() || (Layers{a}).Key() == (Layers{a, c}).Key() {
		t.Error("rules that say different things have one key")
	}
}

// TestLayersAreNotShared: two sessions that narrow the same rules do not see
// each other's.
func TestLayersAreNotShared(t *testing.T) {
	t.Parallel()
	base := make(Layers, 0, 8)
	for _, deny := range []string{"a", "b"} {
		l, err := Rules{Deny: []string{deny}}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		defer func(ls Layers) {
			if ls.Allows(Tool{"quoin", "core", deny}) {
				t.Errorf("%s was denied and is there: another session took its place", deny)
			}
		}(base.With(l))
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	for pattern, say := range map[string]string{
		"":                        "empty",
		" exec":                   "spaces",
		"exec ":                   "spaces",
		"a\nb":                    "printable",
		"\xff":                    "printable",
		`a\`:                      `\\`,
		"owner:":                  "empty",
		"name:":                   "empty",
		"owner:a:b":               "no ':'",
		"source:plugin":           "quoin, mcp, client",
		"source:*":                "quoin, mcp, client",
		"plugin:calendar":         "owner",
		"mcp:github":              "owner:github",
		"quoin::x":                "empty",
		"quoin:core:":             "empty",
		"q*:core:exec":            "quoin, mcp, client",
		strings.Repeat("a", 1201): "shorter",
	} {
		_, err := Scopes{Agents: map[string]Rules{"scout": {Deny: []string{"fine", pattern}}}}.Compile()
		var bad *PatternError
		if !errors.As(err, &bad) {
			t.Errorf("%q: got %v, want a *PatternError", pattern, err)
			continue
		}
		if bad.Field != `agents["scout"].deny[1]` || !strings.Contains(bad.Want, say) || len(err.Error()) > 500 {
			t.Errorf("%q: %v, want it to name the field and to say %q", pattern, err, say)
		}
	}
	for list, r := range map[string]Rules{"allow[0]": {Allow: []string{":"}}, "deny[0]": {Deny: []string{":"}}} {
		_, err := Scopes{Rules: r}.Compile()
		if err == nil || !strings.HasPrefix(err.Error(), list+" is \":\": ") {
			t.Errorf("%s: got %v", list, err)
		}
	}
	_, err := Scopes{Sessions: map[string]Rules{"s": {Allow: []string{":"}}}}.Compile()
	if err == nil || !strings.HasPrefix(err.Error(), `sessions["s"].allow[0]`) {
		t.Errorf("got %v", err)
	}
}
