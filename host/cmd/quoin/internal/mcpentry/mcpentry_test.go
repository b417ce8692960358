package mcpentry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nowhere takes servers over where nothing is.
func nowhere() Here {
	no := func(string) bool { return false }
	return Here{Taken: no, Folder: no, IsSet: no, IsFile: no}
}

// disabledFor follows the restriction that is not taken.
const disabledFor = ": the server is disabled; write allow or deny if it has to have fewer tools, and remove disabled"

// TestRead has a file of each host, as its documentation writes them.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		found      []Found
		skipped    []Skipped
	}{
		{"Claude Desktop", `{"globalShortcut": "", "mcpServers": {
			"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]},
			"github": {"command": "docker", "args": ["run"], "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "secret-1", "N": 3}}}}`,
			[]Found{
				{Name: "filesystem", As: "filesystem", Entry: Entry{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"}}},
				{Name: "github", As: "github", Entry: Entry{Command: "docker", Args: []string{"run"}, Env: map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "secret-1", "N": "3"}}},
			}, nil},
		{"Claude Code", `{"mcpServers": {
			"api": {"type": "http", "url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer ${API_KEY:-secret-2}"}, "headersHelper": "x"},
			"legacy": {"type": "sse", "url": "https://mcp.example.com/sse"},
			"db": {"command": "${HOME}/bin/db", "args": ["--dsn", "${DSN:-secret-3}"], "env": {}}}}`,
			[]Found{
				{Name: "api", As: "api", Entry: Entry{URL: "https://api.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer secret-2"}}, Notes: []string{
					"headers.Authorization has the default of API_KEY, which is not set: write ${API_KEY} to have the variable", "headersHelper is not taken"}},
				{Name: "db", As: "db", Entry: Entry{Command: "${HOME}/bin/db", Args: []string{"--dsn", "secret-3"}}, Notes: []string{
					"args has the default of DSN in its place, because Quoin replaces nothing there", "command contains ${HOME}, which stays as it is written: put the value in its place"}},
			}, []Skipped{{"legacy", "it speaks HTTP with server-sent events, which newer servers have replaced by streamable HTTP: look for that address in its documentation"}}},
		{"Cursor", `{"mcpServers": {"My Server!": {"url": "http://localhost:3000/mcp", "headers": {"API_KEY": "${env:API_KEY}", "Root": "${workspaceFolder}"}}}}`,
			[]Found{{Name: "My-Server", As: "My Server!", Entry: Entry{URL: "http://localhost:3000/mcp", Headers: map[string]string{"API_KEY": "${API_KEY}", "Root": "${workspaceFolder}"}},
				Notes: []string{"headers.Root contains ${workspaceFolder}, which Quoin does not know: put the value in its place"}}}, nil},
		{"VS Code", `{
			// asked once
			"inputs": [{"type": "promptString", "id": "perplexity-key", "password": true}],
			"servers": {
				"perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"KEY": "${input:perplexity-key}", "GONE": null}},
				"web": {"type": "http", "url": "https://api.example.com/mcp/", "gallery": true},
			}}`,
			[]Found{
				{Name: "perplexity", As: "perplexity", Entry: Entry{Command: "npx", Args: []string{"-y", "p"}, Env: map[string]string{"KEY": "${PERPLEXITY_KEY}"}},
					Notes: []string{`env.KEY asked for perplexity-key: set the variable PERPLEXITY_KEY`}},
				{Name: "web", As: "web", Entry: Entry{URL: "https://api.example.com/mcp/"}, Notes: []string{"gallery is not taken"}},
			}, nil},
		{"opencode", `{"$schema": "https://opencode.ai/config.json", "mcp": {
			"o": {"type": "local", "command": ["npx", "-y", "@acme/srv", "{env:ROOT}"], "environment": {"A": "1", "B": "x-{env:B}"}, "enabled": true, "timeout": 5000},
			"r": {"type": "remote", "url": "https://mcp.example.test/mcp", "headers": {"K": "{env:KK}", "L": "{file:~/l}"}, "enabled": false},
			"e": {"type": "local", "command": []}, "over": {"enabled": false}, "u": {"type": "remote", "url": "{env:U}/mcp"}}}`,
			[]Found{
				{Name: "o", As: "o", Entry: Entry{Command: "npx", Args: []string{"-y", "@acme/srv", "${ROOT}"}, Env: map[string]string{"A": "1", "B": "x-${B}"}}, Notes: []string{
					"args contains ${ROOT}, which stays as it is written: put the value in its place", "timeout is not taken"}},
				{Name: "r", As: "r", Entry: Entry{URL: "https://mcp.example.test/mcp", Headers: map[string]string{"K": "${KK}", "L": "{file:~/l}"}, Disabled: true}, Notes: []string{
					"headers.L contains {file:…}, which Quoin does not know: put the value in its place"}},
			}, []Skipped{{"e", "command and url are both missing; give one of them"}, {"over", "command and url are both missing; give one of them"}, {"u", "url contains ${U}, and Quoin replaces nothing there: write the value in its place"}}},
		{"opencode without types", `{"mcp": {"o": {"command": ["npx"]}, "p q": {"command": ["npx"]}, "r": {"command": ["npx"]}},
			"tools": {"o_*": false, "o_x": true, "p_q_del*": false, "p_q_a[": false, "r_*": true, "bash": false}, "permission": {"r_w": "deny", "r_x": {"*": "deny"}, "p_*": "ask", "*": "allow"}}`,
			[]Found{
				{Name: "o", As: "o", Entry: Entry{Command: "npx", Disabled: true}, Notes: []string{"tools.o_* turns tools of it off, so that it is disabled"}},
				{Name: "p-q", As: "p q", Entry: Entry{Command: "npx", Deny: []string{`a\[`, "del*"}}, Notes: []string{"tools.p_q_a[ is in deny", "tools.p_q_del* is in deny", "permission.p_* is not taken"}},
				{Name: "r", As: "r", Entry: Entry{Command: "npx", Deny: []string{"w"}, Disabled: true}, Notes: []string{"permission.r_w is in deny", "permission.r_x is not taken, and may be a restriction" + disabledFor}},
			}, nil},
		{"opencode that denies all", `{"mcp": {"o": {"command": ["npx"]}}, "permission": "deny"}`,
			[]Found{{Name: "o", As: "o", Entry: Entry{Command: "npx", Disabled: true}, Notes: []string{"permission.* turns tools of it off, so that it is disabled"}}}, nil},
		{"Crush", `{"mcp": {"fs": {"type": "stdio", "command": "node", "args": ["s.js"], "timeout": 120, "disabled": false, "disabled_tools": ["drop_db"]}, "gh": {"type": "http", "url": "https://e.test/mcp"}}}`,
			[]Found{
				{Name: "fs", As: "fs", Entry: Entry{Command: "node", Args: []string{"s.js"}, Deny: []string{"drop_db"}}, Notes: []string{"timeout is not taken"}},
				{Name: "gh", As: "gh", Entry: Entry{URL: "https://e.test/mcp"}}}, nil},
		{"Gemini", `{"mcpServers": {"g": {"url": "https://e.test/g"}, "h": {"url": "https://e.test/sse", "httpUrl": "https://e.test/mcp", "includeTools": ["a*", "b(c)"], "trust": true}, "i": {"command": "x"}},
			"mcp": {"allowed": ["g", "h"], "excluded": ["g"]}}`,
			[]Found{
				{Name: "g", As: "g", Entry: Entry{URL: "https://e.test/g", Disabled: true}, Notes: []string{"mcp.excluded has it, so that it is disabled"}},
				{Name: "h", As: "h", Entry: Entry{URL: "https://e.test/mcp", Allow: []string{`a\*`, "b(c)"}}, Notes: []string{"includeTools has a name with arguments, which allows no tool: write the name alone into allow", "trust is not taken", "url is another address, which is not taken"}},
				{Name: "i", As: "i", Entry: Entry{Command: "x", Disabled: true}, Notes: []string{"mcp.allowed does not have it, so that it is disabled"}}}, nil},
		{"restrictions", `{"mcpServers": {
			"a": {"command": "x", "disabledTools": ["drop_*"], "excludeTools": ["y"]}, "b": {"command": "x", "tools": ["read_a"]}, "c": {"command": "x", "isActive": false, "enabled": true}, "d": {"command": "x", "tools": ["*"]},
			"e": {"command": "x", "sandbox": true, "later": null}, "f": {"command": "x", "tools": {"w": {"approval_mode": "prompt"}}}, "g": {"command": "x", "enabledTools": ["a"], "allowedTools": ["a", "b"]}}}`,
			[]Found{
				{Name: "a", As: "a", Entry: Entry{Command: "x", Deny: []string{"drop_*", "y"}}}, {Name: "b", As: "b", Entry: Entry{Command: "x", Allow: []string{"read_a"}}},
				{Name: "c", As: "c", Entry: Entry{Command: "x", Disabled: true}}, {Name: "d", As: "d", Entry: Entry{Command: "x", Allow: []string{"*"}}},
				{Name: "e", As: "e", Entry: Entry{Command: "x", Disabled: true}, Notes: []string{"sandbox is not taken, and may be a restriction" + disabledFor}},
				{Name: "f", As: "f", Entry: Entry{Command: "x", Disabled: true}, Notes: []string{"tools is not taken, and is a restriction" + disabledFor}},
				{Name: "g", As: "g", Entry: Entry{Command: "x", Allow: []string{"a", "b"}, Disabled: true}, Notes: []string{"enabledTools is not taken, and is a restriction" + disabledFor}},
			}, nil},
		{"Zed", `{"theme": "One", "context_servers": {
			"z": {"source": "custom", "command": {"path": "npx", "args": ["-y", "@acme/srv"], "env": {"A": "1"}}}, "z2": {"command": "npx", "args": ["-y"]},
			"x": {"source": "extension", "settings": {}}, "n": {"source": "custom", "command": {"args": ["a"]}}}}`,
			[]Found{
				{Name: "z", As: "z", Entry: Entry{Command: "npx", Args: []string{"-y", "@acme/srv"}, Env: map[string]string{"A": "1"}}},
				{Name: "z2", As: "z2", Entry: Entry{Command: "npx", Args: []string{"-y"}}},
			}, []Skipped{{"n", "its field command is no text"}, {"x", "command and url are both missing; give one of them"}}},
		{"Quoin", `{mcp: {servers: {fs: {command: "x", deny: ["*_delete"], callTimeoutMs: 5000}}}}`,
			[]Found{{Name: "fs", As: "fs", Entry: Entry{Command: "x", Deny: []string{"*_delete"}, CallTimeoutMs: 5000}}}, nil},
		{"what cannot be", `{"mcpServers": {"a": 1, "b": {}, "c": {"command": [["x"]]}, "d": {"url": "https://me:secret-4@h/"}, "e": {"command": "x", "type": "ws"}, "f": {"command": "x", "args": "y"}, "g": {"command":"x","env":{"A B":"secret-5"}}}}`,
			nil, []Skipped{
				{"a", "it is no object"}, {"b", "command and url are both missing; give one of them"}, {"c", "its field command is no text"},
				{"d", "url has a user name or password in it; use headers instead"}, {"e", `it has the transport ws; Quoin has stdio and streamable HTTP`},
				{"f", `its field args is no list`}, {"g", "env.A B is not a variable: expected a name of letters, digits and '_', and a value without NUL"}}},
		{"names that meet", `{"mcpServers": {"a b": {"command": "x"}, "a.b": {"command": "y"}, "a_b": {"command": "z"}, "ä": {"command": "v"}, "a!b": {"command": "w"}}}`,
			[]Found{
				{Name: "a-b", As: "a b", Entry: Entry{Command: "x"}}, {Name: "a-b-2", As: "a!b", Entry: Entry{Command: "w"}}, {Name: "a.b", As: "a.b", Entry: Entry{Command: "y"}},
				{Name: "a_b", As: "a_b", Entry: Entry{Command: "z"}}, {Name: "server", As: "ä", Entry: Entry{Command: "v"}}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, skipped, err := Read([]byte(tc.text), false, nowhere())
			check(t, tc.found, found, tc.skipped, skipped, err)
		})
	}
}

func TestReadTOML(t *testing.T) {
	found, skipped, err := Read([]byte(`
model = "o5"
[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env_vars = ["LOCAL_TOKEN"]
cwd = "/srv"
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled_tools = []
[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { "X-Org" = "ORG" }
disabled_tools = ["a*"]
enabled = false
required = true
`), true, nowhere())
	check(t, []Found{
		{Name: "context7", As: "context7", Entry: Entry{Command: "npx", Args: []string{"-y", "@upstash/context7-mcp"}, Dir: "/srv", PassEnv: []string{"LOCAL_TOKEN"},
			Env: map[string]string{"MY_ENV_VAR": "MY_ENV_VALUE"}, ConnectTimeoutMs: 20_000, CallTimeoutMs: 45_500, Allow: []string{}}},
		{Name: "figma", As: "figma", Entry: Entry{URL: "https://mcp.figma.com/mcp", Disabled: true, Deny: []string{"a*"},
			Headers: map[string]string{"Authorization": "Bearer ${FIGMA_OAUTH_TOKEN}", "X-Figma-Region": "us-east-1", "X-Org": "${ORG}"}}, Notes: []string{"required is not taken"}},
	}, found, nil, skipped, err)
	if b, err := found[0].Entry.JSON(); err != nil || !strings.Contains(string(b), `"allow":[]`) {
		t.Errorf("a list that leaves no tools is lost: %s, %v", b, err)
	}
}

func check(t *testing.T, wantFound, found []Found, wantSkipped, skipped []Skipped, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantFound, found); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantSkipped, skipped); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
}

// TestScopes: what a file has for one folder is taken there, and named elsewhere.
func TestScopes(t *testing.T) {
	const file = `{"mcpServers": {"outer": {"url": "https://h/mcp"}, "both": {"command": "user"}}, "servers": {"vs": {"command": "x"}, "outer": {"command": "y"}},
		"projects": {"/here": {"mcpServers": {"both": {"command": "local"}}, "disabledMcpServers": ["vs"]}, "/there": {"mcpServers": {"inner": {"command": "s3cret"}}}, "/none": {"mcpServers": {}}, "/odd": 1}}`
	here := nowhere()
	here.Folder = func(path string) bool { return path == "/here" }
	found, skipped, err := Read([]byte(file), false, here)
	check(t, []Found{
		{Name: "both", As: "both", Entry: Entry{Command: "local"}}, {Name: "outer", As: "outer", Entry: Entry{URL: "https://h/mcp"}}, {Name: "vs", As: "vs", Entry: Entry{Command: "x", Disabled: true}, Notes: []string{"disabledMcpServers has it, so that it is disabled"}},
	}, found, []Skipped{
		{"both", "the file has another server of this name, which counts"}, {"outer", "the file has another server of this name, which counts"},
		{"inner", "it is of the folder /there alone: to take it, run the command there"},
	}, skipped, err)
	found, skipped, err = Read([]byte(`{"projects": {"/there": {"mcpServers": {"inner": {"command": "x"}}}}}`), false, here)
	check(t, nil, found, []Skipped{{"inner", "it is of the folder /there alone: to take it, run the command there"}}, skipped, err)
}

// TestDefaults: what another host would use is taken, or the variable is named.
func TestDefaults(t *testing.T) {
	here := nowhere()
	here.IsSet = func(name string) bool { return name == "SET" }
	found, skipped, err := Read([]byte(`{"mcpServers": {
		"a": {"url": "${API_BASE:-https://h.example}/mcp", "headers": {"A": "${SET:-x}", "B": "${UNSET:-y:-z}", "C": "${env:C}", "D": "${UNSET:-}", "E": "pa$word"}},
		"b": {"url": "${API_BASE}/mcp"}, "c": {"url": "https://h/${A:-${B}}"}}}`), false, here)
	check(t, []Found{{Name: "a", As: "a", Entry: Entry{URL: "https://h.example/mcp", Headers: map[string]string{"A": "${SET}", "B": "y:-z", "C": "${C}", "D": "", "E": "pa$word"}}, Notes: []string{
		"headers.A has a default for SET, which is not taken, because the variable is set",
		"headers.B has the default of UNSET, which is not set: write ${UNSET} to have the variable",
		"headers.D has the default of UNSET, which is not set: write ${UNSET} to have the variable",
		"headers.E has a $, which stays as it is written: write ${NAME} for a variable",
		"url has the default of API_BASE in its place, because Quoin replaces nothing there"}}},
		found, []Skipped{{"b", "url contains ${API_BASE}, and Quoin replaces nothing there: write the value in its place"}, {"c", "url contains ${A…}, and Quoin replaces nothing there: write the value in its place"}}, skipped, err)
}

// TestCommands: a program is its name alone, however a host writes it.
func TestCommands(t *testing.T) {
	here := nowhere()
	here.IsFile = func(path string) bool { return path == "/Program Files/srv" || path == "/bin/node" }
	found, skipped, err := Read([]byte(`{"mcpServers": {
		"a": {"command": "npx -y @acme/srv", "args": ["--more"]}, "b": {"command": "/Program Files/srv"}, "c": {"command": "/bin/node s.js"}, "d": {"command": "node 'my s.js'"},
		"e": {"command": "/opt/my srv"}, "f": {"command": "./srv", "cwd": "./sub"},
		"g": {"command": "KEY=s3cret npx x"}, "h": {"command": "cd /srv && node s.js"}, "i": {"command": "~/bin/srv"}, "j": {"command": "$HOME/srv"}}}`), false, here)
	const spaces = "command has spaces in it, and is no file: put the program alone into command, and its arguments into args"
	split := []string{"command had arguments in it, which stand in args now"}
	check(t, []Found{
		{Name: "a", As: "a", Entry: Entry{Command: "npx", Args: []string{"-y", "@acme/srv", "--more"}}, Notes: split},
		{Name: "b", As: "b", Entry: Entry{Command: "/Program Files/srv"}},
		{Name: "c", As: "c", Entry: Entry{Command: "/bin/node", Args: []string{"s.js"}}, Notes: split},
		{Name: "f", As: "f", Entry: Entry{Command: "./srv", Dir: "./sub"}, Notes: []string{"command is relative: it starts where Quoin runs, so write the whole path", "cwd is relative: it starts where Quoin runs, so write the whole path"}},
		{Name: "i", As: "i", Entry: Entry{Command: "~/bin/srv"}, Notes: []string{"command starts with ~, which stands for something in a shell alone: write the whole path"}},
		{Name: "j", As: "j", Entry: Entry{Command: "$HOME/srv"}, Notes: []string{"command starts with $, which stands for something in a shell alone: write the whole path"}},
	}, found, []Skipped{{"d", spaces}, {"e", spaces},
		{"g", "command sets a variable before the program: put the variable into env, and the program alone into command"},
		{"h", "command is a line for a shell, and Quoin starts programs without one: put the program alone into command, its arguments into args, and its folder into dir"},
	}, skipped, err)
}

func TestNamesInUse(t *testing.T) {
	here := nowhere()
	here.Taken = func(name string) bool { return name == "a" || name == "b-c" }
	found, _, err := Read([]byte(`{mcpServers: {a: {command: "x"}, "b c": {command: "y"}}}`), false, here)
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "b-c-2" {
		t.Errorf("%+v, %v: a name as it is stays, for the caller to refuse; one that was made gives way", found, err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		`{"command": "npx"}`: `this is one server without a name: write {"mcpServers": {"NAME": …}} around it`,
		`{}`:                 "no servers are in the file: expected one of mcpServers, mcp.servers, servers",
		`[]`:                 "the file is no object",
		`{a: secret`:         "1:5: this is no JSON",
		`{a: NaN}`:           "infinite",
	} {
		if _, _, err := Read([]byte(text), false, nowhere()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, _, err := Read([]byte("a = 1\nb = secret"), true, nowhere()); err == nil || err.Error() != "2:5: this is no TOML" {
		t.Error(err)
	}
	if _, _, err := Read(make([]byte, MaxBytes+1), true, nowhere()); err == nil {
		t.Error("a file beyond MaxBytes is read")
	}
}

// TestNothingTellsSecrets: neither notes nor reasons have a value in them.
func TestNothingTellsSecrets(t *testing.T) {
	found, skipped, err := Read([]byte(`{"mcpServers": {
		"a": {"command": "x", "args": ["--key=${K:-s3cret}", "s3cret"], "env": {"A": "s3cret ${input:x}", "B": "${a b s3cret}", "C": "${D:-s3cret}"}, "other": "s3cret"},
		"b": {"url": "ftp://h/?key=s3cret"}, "c": {"url": "http://h", "headers": {"A": "s3cret\n"}}, "d": {"command": "x", "env": {"A": "s3cret\u0000"}}, "e": {"url": "http://h", "bearer_token_env_var": "the s3cret"}}}`), false, nowhere())
	if err != nil || len(found) != 1 || len(skipped) != 4 {
		t.Fatal(found, skipped, err)
	}
	for _, s := range skipped {
		found[0].Notes = append(found[0].Notes, s.Reason)
	}
	if all := strings.Join(found[0].Notes, "\n"); strings.Contains(all, "s3cret") {
		t.Error(all)
	}
}

// FuzzRead: what is found is an entry that a host takes, under names that differ.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a b": {"command": "x", "args": ["${A:-b}"], "env": {"K": "${input:k-1}"}}}}`), false)
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x -y"}}, "projects": {"/here": {"mcpServers": {"a": {"url": "${A:-http://h}/x"}}}, "/b": {"mcpServers": {"c": 1}}}}`), false)
	f.Add([]byte(`{servers: {x: {url: "http://h", headers: {A: "${env:B}"}}}}`), false)
	f.Add([]byte(`{mcp: {a: {command: ["x"], tools: ["["]}, allowed: ["a", {}]}, tools: {"a_[*": false}, permission: {"*": {}}}`), false)
	f.Add([]byte("[mcp_servers.x]\nurl = \"http://h\"\nenv_http_headers = {A = \"B\"}"), true)
	f.Fuzz(func(t *testing.T, data []byte, isTOML bool) {
		here := nowhere()
		here.Taken = func(name string) bool { return name == "taken" }
		here.Folder = func(path string) bool { return path == "/here" }
		found, _, err := Read(data, isTOML, here)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, f := range found {
			if err := f.Entry.Check(f.Name); err != nil || names[f.Name] {
				t.Errorf("%q: %v, twice: %v", f.Name, err, names[f.Name])
			}
			names[f.Name] = true
			if b, err := f.Entry.JSON(); err != nil || !json.Valid(b) {
				t.Errorf("%s, %v", b, err)
			}
		}
	})
}

// TestEncodings: a byte order mark is dropped, and UTF-16 is named.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for text, isTOML := range map[string]bool{"\ufeff" + `{"mcpServers": {"a": {"command": "x"}}}`: false, "\ufeff[mcp_servers.a]\ncommand = \"x\"\n": true} {
		if found, _, err := Read([]byte(text), isTOML, nowhere()); err != nil || len(found) != 1 {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
	for _, text := range []string{"\xff\xfe{\x00", "\xfe\xff\x00{"} {
		if _, _, err := Read([]byte(text), false, nowhere()); err == nil || !strings.Contains(err.Error(), "UTF-16; save it as UTF-8") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
