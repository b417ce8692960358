//go:build linux

package pluginlint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// TestMain lets the test binary stand in for plugins.
func TestMain(m *testing.M) {
	if os.Getenv(protocol.CookieKey) != "" {
		servePlugin()
		return
	}
	os.Exit(m.Run())
}

// roleFile in a plugin's folder names the mistake that the plugin makes.
const roleFile = "role"

// servePlugin serves the weather plugin with a mistake.
func servePlugin() {
	role, err := os.ReadFile(filepath.Join(os.Getenv(protocol.EnvPluginDir), roleFile))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := &rawPlugin{Service: sdk.New(sdk.Info{ID: "weather", Version: "1.0.0"}, nil).Service(), desc: goodDescription(), scope: goodScope}
	if i := slices.IndexFunc(seeded, func(s seed) bool { return s.name == string(role) }); i >= 0 && seeded[i].plugin != nil {
		seeded[i].plugin(p)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: protocol.Handshake(),
		Plugins:         protocol.PluginSet(p),
		GRPCServer:      goplugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
	})
}

// rawPlugin answers past the SDK's own checks.
type rawPlugin struct {
	protocol.Service
	desc      *protocol.Description
	scope     string
	scopeErr  error
	configure error
}

func (p *rawPlugin) Describe(context.Context) (*protocol.Description, error) { return p.desc, nil }
func (p *rawPlugin) Configure(context.Context, protocol.Configuration) error { return p.configure }
func (p *rawPlugin) CreateScope(context.Context, string, protocol.RunContext) (json.RawMessage, error) {
	return json.RawMessage(p.scope), p.scopeErr
}

// goodScope has the verbs Weather.get(city) and Weather.days.next(), and plain data.
const goodScope = `{"kind":"object","entries":{
	"get":{"kind":"call","tool":"weather_get","mapping":{"kind":"positional","positional":["city"]}},
	"units":{"kind":"array","items":[{"kind":"value","value":"metric"}]},
	"days":{"kind":"object","entries":{"next":{"kind":"call","tool":"weather_next","mapping":{"kind":"default"}}}}}}`

func goodDescription() *protocol.Description {
	return &protocol.Description{
		ID: "weather", Version: "1.0.0",
		Tools: []protocol.ToolInfo{
			goodTool("weather_get", "Tells the weather of a city now."),
			goodTool("weather_next", "Tells the weather of the next days in a city."),
		},
		Namespaces: []protocol.NamespaceInfo{{
			ID: "weather", GlobalName: "Weather", Description: "The weather of cities, now and in the next days.",
			Prompt:        "Weather.get(city) tells the weather now, Weather.days.next({city}) of the next days. Weather.units.join(', ') lists units; otherWeather.foo() is not ours.",
			RequiredTools: []string{"weather_get", "weather_next"},
		}},
	}
}

func goodTool(name, description string) protocol.ToolInfo {
	return protocol.ToolInfo{
		Name: name, Description: description,
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city."}},"required":["city"]}`),
		Output:     json.RawMessage(`{"type":"object","properties":{"celsius":{"type":"number"}},"required":["celsius"]}`),
		Examples:   []protocol.Example{{Input: json.RawMessage(`{"city":"Paris"}`), Output: json.RawMessage(`{"celsius":21}`)}},
	}
}

const goodManifest = `{"id": "weather", "version": "1.0.0", "protocol": 2, "description": "Weather.", "command": "./plugin", "files": ["role"]}`

// seed is one mistake, and what has to be said of it: where, what, and what to do.
type seed struct {
	name     string
	manifest string                         // in place of the good one
	folder   func(t *testing.T, dir string) // what is wrong in the folder
	plugin   func(p *rawPlugin)             // what is wrong with what the plugin says
	severity Severity
	code     string
	parts    []string
}

func tool(change func(t *protocol.ToolInfo)) func(*rawPlugin) {
	return func(p *rawPlugin) { change(&p.desc.Tools[0]) }
}

func space(change func(n *protocol.NamespaceInfo)) func(*rawPlugin) {
	return func(p *rawPlugin) { change(&p.desc.Namespaces[0]) }
}

// scope is another scope, with a prompt that teaches none of it.
func scope(text string) func(*rawPlugin) {
	return func(p *rawPlugin) { p.scope, p.desc.Namespaces[0].Prompt = text, "" }
}

// oneVerb is a scope with a single verb.
func oneVerb(key, mapping string) string {
	return fmt.Sprintf(`{"kind":"object","entries":{%q:{"kind":"call","tool":"weather_get","mapping":%s},
		"next":{"kind":"call","tool":"weather_next","mapping":{"kind":"default"}}}}`, key, mapping)
}

// methods is a scope with results that have a method, by a key that becomes a field of the
// input.
func methods(key, field string) func(*rawPlugin) {
	return func(p *rawPlugin) {
		p.desc.Tools[0].Output = json.RawMessage(`{"type":"object","properties":{"at":{}}}`)
		p.scope = strings.TrimSuffix(strings.Replace(goodScope, `["city"]}`, `["city"]},"returns":"Place"`, 1), "}") +
			`,"classes":{"Place":{"key":"` + key + `","methods":{"again":{"kind":"call","tool":"weather_get","mapping":{"kind":"positional","positional":["` + field + `"]}}}}}}`
	}
}

// seeded are mistakes of every kind, each in a real plugin.
var seeded = []seed{
	// What a host refuses: the manifest and the folder.
	{name: "manifest is not JSON", manifest: "{\n", severity: Error, code: "manifest", parts: []string{"plugin.json", "line 2", "not JSON"}},
	{name: "no command", manifest: `{"id": "weather", "version": "1.0.0", "protocol": 2}`, severity: Error, code: "manifest", parts: []string{"field command", "missing", "add it"}},
	{name: "unknown field", manifest: strings.Replace(goodManifest, `"files"`, `"file"`, 1), severity: Error, code: "manifest", parts: []string{"field file", "unknown", "remove it", "files"}},
	{name: "another id", manifest: strings.Replace(goodManifest, `"weather"`, `"climate"`, 1), severity: Error, code: "manifest",
		parts: []string{"field id", `"climate" stands in a folder named "weather"`, "name the folder after the plugin"}},
	{name: "another protocol", manifest: strings.Replace(goodManifest, `"protocol": 2`, `"protocol": 99`, 1), severity: Error, code: "manifest", parts: []string{"field protocol", "99", "install a build"}},
	{name: "no binary", folder: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "plugin"))) }, severity: Error, code: "manifest",
		parts: []string{"field command", "does not exist", "build the plugin"}},
	{name: "not executable", folder: func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, "plugin")))
		must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte("x"), 0o600))
	}, severity: Error, code: "manifest", parts: []string{"field command", "not executable", "chmod +x"}},
	{name: "another checksum", manifest: strings.Replace(goodManifest, `"files"`, `"sha256": {"`+platform()+`": "`+strings.Repeat("a", 64)+`"}, "files"`, 1),
		severity: Error, code: "start", parts: []string{"plugin weather", "has the checksum", strings.Repeat("a", 64), "pin the new checksum"}},
	{name: "no other platform", manifest: strings.Replace(goodManifest, `"./plugin"`, `{"plan9/mips": "./plugin"}`, 1), severity: Error, code: "manifest",
		parts: []string{"field command", "no entry for this host's platform", "add the binary"}},

	// What a host refuses: what the process says and does.
	{name: "not a plugin", folder: func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, "plugin")))
		must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte("#!/bin/sh\necho hello\n"), 0o700))
	}, severity: Error, code: "start", parts: []string{"plugin weather", "ended before the handshake", "hello"}},
	{name: "another version", plugin: func(p *rawPlugin) { p.desc.Version = "2.0.0" }, severity: Error, code: "start",
		parts: []string{`version "2.0.0"`, `"1.0.0"`, "rebuild the plugin or correct the manifest"}},
	{name: "a tool twice", plugin: func(p *rawPlugin) { p.desc.Tools = append(p.desc.Tools, p.desc.Tools[0]) }, severity: Error, code: "start",
		parts: []string{`tool "weather_get" is listed twice`, "its own name"}},
	{name: "no description", plugin: tool(func(t *protocol.ToolInfo) { t.Description = "" }), severity: Error, code: "start",
		parts: []string{`tool "weather_get"`, "no description", "the model chooses by it"}},
	{name: "no JSON Schema", plugin: tool(func(t *protocol.ToolInfo) {
		t.Parameters = []byte(`{"type":"object","properties":{"a":{"type":"text"}}}`)
	}), severity: Error, code: "start",
		parts: []string{`tool "weather_get"`, "not a valid JSON Schema"}},
	{name: "example does not fit", plugin: tool(func(t *protocol.ToolInfo) { t.Examples[0].Input = []byte(`{"town":"Paris"}`) }), severity: Error, code: "start",
		parts: []string{`tool "weather_get"`, "example 1 does not fit the input schema", "city"}},
	{name: "a tool of others", plugin: space(func(n *protocol.NamespaceInfo) { n.RequiredTools = append(n.RequiredTools, "issues_list") }), severity: Error, code: "start",
		parts: []string{`namespace "weather"`, `"issues_list"`, "its own tools"}},
	{name: "reserved global", plugin: space(func(n *protocol.NamespaceInfo) { n.GlobalName = "tools" }), severity: Error, code: "start",
		parts: []string{`"tools" is reserved`, "choose another name"}},
	{name: "no configuration", plugin: func(p *rawPlugin) { p.configure = errors.New("set apiKey, which weather.example gives out") }, severity: Error, code: "start",
		parts: []string{"plugin weather", "set apiKey"}},
	{name: "no scope", plugin: func(p *rawPlugin) { p.scopeErr = errors.New("no database") }, severity: Error, code: "scope",
		parts: []string{"namespace weather", "no database", "cells have no Weather"}},
	{name: "scope leads elsewhere", plugin: scope(strings.Replace(oneVerb("get", `{"kind":"default"}`), "weather_next", "weather_delete", 1)), severity: Error, code: "scope",
		parts: []string{"namespace weather", "weather_delete", "requiredToolNames"}},
	{name: "scope with a prototype", plugin: scope(oneVerb("__proto__", `{"kind":"default"}`)), severity: Error, code: "scope", parts: []string{"namespace weather", "__proto__", "use another key"}},

	// What a model stumbles over.
	{name: "files are not named", manifest: strings.Replace(goodManifest, `, "files": ["role"]`, "", 1), severity: Warning, code: "unnamed-files",
		parts: []string{"field files", "role", "name the files"}},
	{name: "a version without an order", manifest: strings.Replace(goodManifest, `"1.0.0"`, `"one"`, 1), plugin: func(p *rawPlugin) { p.desc.Version = "one" },
		severity: Warning, code: "version-order", parts: []string{"field version", `"one"`, "--any-version", "such as 0.1.0"}},
	{name: "manifest says nothing", manifest: strings.Replace(goodManifest, `"Weather."`, `""`, 1), severity: Warning, code: "manifest-description", parts: []string{"field description", "write one line"}},
	{name: "setting says nothing", manifest: strings.Replace(goodManifest, `"files"`, `"configSchema": {"type": "object", "properties": {"unit": {"type": "string"}}}, "files"`, 1),
		severity: Warning, code: "undescribed-config", parts: []string{"field configSchema", `"unit"`, "say what it does"}},
	{name: "short description", plugin: tool(func(t *protocol.ToolInfo) { t.Description = "Weather." }), severity: Warning, code: "short-description",
		parts: []string{"tool weather_get", `"Weather."`, "when to use it"}},
	{name: "long description", plugin: tool(func(t *protocol.ToolInfo) { t.Description = strings.Repeat("Rain. ", 400) }), severity: Warning, code: "long-description",
		parts: []string{"tool weather_get", "2400 bytes", "move examples"}},
	{name: "same description", plugin: tool(func(t *protocol.ToolInfo) { t.Description = "Tells the weather of the next days in a city." }), severity: Warning, code: "same-description",
		parts: []string{"tool weather_next", "that of weather_get", "say what differs"}},
	{name: "names collide", plugin: func(p *rawPlugin) {
		p.desc.Tools = append(p.desc.Tools, goodTool("wind-now", "Tells the wind in a city now."), goodTool("wind.now", "Tells the wind in a city at this moment."))
	}, severity: Warning, code: "name-collision", parts: []string{"tool wind.now", "wind-now and wind.now", "tools.wind_now", "rename one"}},
	{name: "unsafe name", plugin: func(p *rawPlugin) {
		p.desc.Tools = append(p.desc.Tools, goodTool("wind-now", "Tells the wind in a city now."))
	}, severity: Warning, code: "unsafe-name", parts: []string{"tool wind-now", "tools.wind_now", "name it wind_now"}},
	{name: "taken name", plugin: func(p *rawPlugin) {
		p.desc.Tools = append(p.desc.Tools, goodTool("search", "Searches for cities by their names."))
	}, severity: Warning, code: "name-taken", parts: []string{"tool search", "tools.search is something else", "rename it"}},
	{name: "many tools", plugin: func(p *rawPlugin) {
		for i := range 70 {
			p.desc.Tools = append(p.desc.Tools, goodTool(fmt.Sprintf("weather_%d", i), fmt.Sprintf("Tells the weather of place number %d.", i)))
		}
	}, severity: Warning, code: "many-tools", parts: []string{"plugin weather", "72 tools", "split the plugin"}},
	{name: "no tools", plugin: func(p *rawPlugin) { p.desc.Tools, p.desc.Namespaces = nil, nil }, severity: Warning, code: "no-tools", parts: []string{"plugin weather", "add a tool"}},
	{name: "huge schema", plugin: tool(func(t *protocol.ToolInfo) {
		t.Parameters = []byte(`{"type":"object","properties":{"city":{"type":"string","description":"` + strings.Repeat("x", 9000) + `"}},"required":["city"]}`)
	}), severity: Warning, code: "huge-schema", parts: []string{"tool weather_get", "bytes", "split the tool"}},
	{name: "parameter says nothing", plugin: tool(func(t *protocol.ToolInfo) {
		t.Parameters = []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	}), severity: Warning, code: "undescribed-parameter", parts: []string{"tool weather_get", `"city"`, "say what it means"}},
	{name: "requires what is not there", plugin: func(p *rawPlugin) {
		t := &p.desc.Tools[1]
		t.Parameters = []byte(`{"type":"object","properties":{"city":{"type":"string","description":"Name."}},"required":["city","day"]}`)
		t.Examples = nil
	}, severity: Warning, code: "unknown-required", parts: []string{"tool weather_next", `"day"`, "add the property"}},
	{name: "no output schema", plugin: tool(func(t *protocol.ToolInfo) { t.Output, t.Examples = nil, nil }), severity: Warning, code: "no-output-schema",
		parts: []string{"tool weather_get", "guess what comes back", "describe the result"}},
	{name: "output of an example", plugin: tool(func(t *protocol.ToolInfo) { t.Examples[0].Output = []byte(`{"kelvin": 294}`) }), severity: Warning, code: "example-output",
		parts: []string{"tool weather_get", "example 1", "celsius", "correct one"}},
	{name: "namespace says nothing", plugin: space(func(n *protocol.NamespaceInfo) { n.Description = "Weather" }), severity: Warning, code: "short-namespace-description",
		parts: []string{"namespace weather", `"Weather"`, "in one line"}},
	{name: "long prompt", plugin: space(func(n *protocol.NamespaceInfo) { n.Prompt = strings.Repeat("Be careful. ", 400) }), severity: Warning, code: "long-prompt",
		parts: []string{"namespace weather", "4800 bytes", "teach the verbs"}},
	{name: "unknown verb", plugin: space(func(n *protocol.NamespaceInfo) { n.Prompt = "Weather.gte(city) tells the weather." }), severity: Warning, code: "unknown-verb",
		parts: []string{"namespace weather", "the prompt teaches Weather.gte(…)", "no such verb", "write Weather.get"}},
	{name: "unknown verb below", plugin: space(func(n *protocol.NamespaceInfo) {
		n.Description = "Weather of cities: Weather.days.previous() is the past."
	}), severity: Warning, code: "unknown-verb",
		parts: []string{"the description teaches Weather.days.previous(…)", "Weather.days.next"}},
	{name: "global in small letters", plugin: space(func(n *protocol.NamespaceInfo) { n.Prompt = "weather.get(city) tells the weather." }), severity: Warning, code: "unknown-verb",
		parts: []string{"teaches weather.get(…)", "the global is Weather", "write Weather.get"}},
	{name: "global of before", plugin: space(func(n *protocol.NamespaceInfo) { n.Prompt = "Meteo.get(city) tells the weather." }), severity: Warning, code: "unknown-verb",
		parts: []string{"the prompt teaches Meteo.get(…)", "the global is Weather", "write Weather.get"}},
	{name: "group called", plugin: space(func(n *protocol.NamespaceInfo) { n.Prompt = "Weather.days() tells the next days." }), severity: Warning, code: "unknown-verb",
		parts: []string{"Weather.days(…)", "no such verb"}},
	{name: "confusing global", plugin: space(func(n *protocol.NamespaceInfo) { n.GlobalName, n.Prompt = "Text", "" }), severity: Warning, code: "confusing-global",
		parts: []string{"the global Text", "text of the guest", "choose another name"}},
	{name: "small global", plugin: space(func(n *protocol.NamespaceInfo) { n.GlobalName, n.Prompt = "weather", "" }), severity: Warning, code: "global-case",
		parts: []string{"the global weather", "shadows it", "name it Weather"}},
	{name: "positional names an unknown field", plugin: scope(oneVerb("get", `{"kind":"positional","positional":["town"]}`)), severity: Warning, code: "mapping",
		parts: []string{"namespace weather", "Weather.get leads to tool weather_get", `"town"`, "it has: city", "name parameters"}},
	{name: "positional leaves out a required field", plugin: scope(oneVerb("get", `{"kind":"positional"}`)), severity: Warning, code: "mapping", parts: []string{"Weather.get", `requires "city"`}},
	{name: "verb that is no identifier", plugin: scope(oneVerb("get-now", `{"kind":"default"}`)), severity: Warning, code: "unsafe-verb",
		parts: []string{`Weather["get-now"]`, "like a JavaScript identifier"}},
	{name: "no verbs", plugin: scope(`{"kind":"object","entries":{"a":{"kind":"value","value":1}}}`), severity: Warning, code: "no-verbs", parts: []string{"namespace weather", "nothing in its scope", "add a verb"}},
	{name: "unused tool", plugin: scope(`{"kind":"object","entries":{"get":{"kind":"call","tool":"weather_get","mapping":{"kind":"default"}}}}`), severity: Warning, code: "unused-tool",
		parts: []string{"namespace weather", "tool weather_next", "add a verb"}},
	{name: "results without the key of their methods", plugin: methods("town", "city"), severity: Warning, code: "methods",
		parts: []string{"namespace weather", "Weather.get cannot have their methods", `the key "town"`, "name a key that the results of tool weather_get have"}},
	{name: "method with a bad mapping", plugin: methods("at", "town"), severity: Warning, code: "mapping",
		parts: []string{"Weather.Place#again leads to tool weather_get", `"town"`}},
	{name: "huge scope", plugin: func(p *rawPlugin) {
		p.scope = strings.Replace(goodScope, `"metric"`, `"`+strings.Repeat("x", 40<<10)+`"`, 1)
	}, severity: Warning, code: "huge-scope", parts: []string{"namespace weather", "bytes", "behind a tool"}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// platform is the key of this platform in manifests.
func platform() string {
	for p := range (manifest.Manifest{Command: "x"}).Binaries() {
		return p
	}
	return ""
}

// folder makes the plugin's folder for one mistake.
func folder(t *testing.T, s seed) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "weather")
	must(t, os.Mkdir(dir, 0o700))
	text := goodManifest
	if s.manifest != "" {
		text = s.manifest
	}
	must(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, roleFile), []byte(s.name), 0o600))
	self, err := os.Executable()
	must(t, err)
	// A script, since a test binary is large and is copied at every start.
	must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte("#!/bin/sh\nexec '"+self+"'\n"), 0o700))
	if s.folder != nil {
		s.folder(t, dir)
	}
	return dir
}

// Every seeded mistake is found, as what it is, and its message names the thing and
// what to do about it.
func TestSeededMistakes(t *testing.T) {
	t.Parallel()
	if len(seeded) < 20 {
		t.Errorf("%d mistakes", len(seeded))
	}
	for _, s := range seeded {
		t.Run(s.name, func(t *testing.T) {
			r, err := Check(t.Context(), folder(t, s), Options{})
			must(t, err)
			found := ""
			for _, p := range r.Problems {
				if p.Severity == s.severity && p.Code == s.code {
					found += p.String() + "\n"
				}
			}
			if found == "" {
				t.Fatalf("not found among %q", r.Problems)
			}
			for _, part := range s.parts {
				if !strings.Contains(found, part) {
					t.Errorf("%q does not say %q", found, part)
				}
			}
			if (r.Errors() > 0) != (s.severity == Error) {
				t.Errorf("%d errors: %q", r.Errors(), r.Problems)
			}
			if s.severity == Warning && len(r.Problems) > 1 && s.code != "name-collision" {
				t.Errorf("more than the mistake that was made: %q", r.Problems)
			}
		})
	}
}

// A plugin without mistakes has no problems, and nothing of the look is left.
func TestNoMistakes(t *testing.T) {
	dir := folder(t, seed{name: "none"})
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	r, err := Check(t.Context(), dir, Options{})
	must(t, err)
	if len(r.Problems) > 0 || r.ID != "weather" || len(r.Tools) != 2 || !slices.Equal(r.Namespaces, []string{"Weather"}) {
		t.Errorf("%+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "quoin-validate-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// All that can be said is said at once.
func TestManyMistakesAtOnce(t *testing.T) {
	t.Parallel()
	r, err := Check(t.Context(), folder(t, seed{name: "none", manifest: `{"id": "Weather", "version": "", "protocol": "1"}`}), Options{})
	must(t, err)
	if r.Errors() != 4 {
		t.Errorf("%q", r.Problems)
	}
}

// A caller that goes away gets an error, not a report.
func TestCheckIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Check(ctx, folder(t, seed{name: "none"}), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
}
