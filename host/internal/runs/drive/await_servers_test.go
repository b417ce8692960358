package drive

import "testing"

func TestAProgramNamesAServer(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		`return MCP.gitHub.list()`:                      true,
		`return MCP["git-hub"].list()`:                  true,
		`const {gitHub: g} = MCP; return g.list()`:      true,
		"const m = MCP\nreturn m\n  .gitHub.x()":        true,
		`tools.describe("mcp:git-hub:list")`:            true,
		`API.read("mcp/gitHub.d.ts")`:                   true,
		`return MCP`:                                    false,
		`return MCP.gitHubber.list()`:                   false,
		`return MCP.myGitHub, MCP.gitHub2, MCP.$gitHub`: false,
		`return gitHub`:                                 false,
		`return MCPS.gitHub`:                            false,
		`tools.describe("mcp:git")`:                     false,
		``:                                              false,
	} {
		if got := namesServer(code, "git-hub", "gitHub"); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	if namesServer("MCP", "", "") {
		t.Error("a server without a name is named")
	}
}

func TestAProgramComputesTheNameOfAServer(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		`const n = "git" + "Hub"; return MCP[n].list()`:      true,
		`return MCP["git" + x].list()`:                       true,
		"return MCP?.[ `git${x}` ]":                          true,
		`return Object.keys(MCP).map((n) => MCP [n].list())`: true,
		"return tools.describe(`mcp:${name}:list`)":          true,
		`return tools.call("mcp:" + name + ":list", {})`:     true,
		`return MCP["git-hub"].list()`:                       false,
		`return MCP[ 'git-hub' ].list()[i]`:                  false,
		`return MCP.gitHub[name]()`:                          false,
		`return Object.keys(MCP)`:                            false,
		`return Object.values(MCP)`:                          true,
		`return [MCP, x]`:                                    true,
		"const m = MCP\nreturn m[n].list()":                  true,
		"const m = MCP; return m[n].list()":                  true,
		`for (const n in MCP) f(n)`:                          true,
		`const all = {...MCP}`:                               true,
		`return f({ MCP })`:                                  true,
		`const { gitHub } = MCP; return gitHub.list()`:       false,
		"const r = await MCP\n  .gitHub.list()":              false,
		"// an MCP server\nreturn MCP.gitHub.list()":         false,
		`return "MCP"`:                                       false,
		`return (MCP?.gitHub)`:                               false,
		`return my.MCP[n], $MCP[n], MCPS[n]`:                 false,
		`return tools.describe("mcp:git-hub:list")`:          false,
	} {
		if got := computesName(code); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}
