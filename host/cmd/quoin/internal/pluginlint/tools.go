package pluginlint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// What a model can be expected to take in. Beyond these there is a warning.
const (
	manyTools        = 64
	shortDescription = 15       // characters
	longDescription  = 2 << 10  // bytes
	hugeSchema       = 8 << 10  // bytes
	hugeScope        = 32 << 10 // bytes of what the guest gets
	longPrompt       = 4 << 10  // bytes
)

// manifest warns about what a manifest leaves out.
func (r *Report) manifest(m manifest.Manifest) {
	if strings.TrimSpace(m.Description) == "" {
		r.add(Warning, "manifest-description", manifestField("description"), "missing", "write one line for those who install the plugin")
	}
	r.Problems = append(r.Problems, Version(m)...)
	if m.ConfigSchema != nil {
		for _, name := range undescribed(m.ConfigSchema) {
			r.add(Warning, "undescribed-config", manifestField("configSchema"), fmt.Sprintf("the setting %q has no description", name), "say what it does and what it is without it")
		}
	}
}

// ordered is a version that another one can be newer than.
var ordered = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+){0,2}([-+].*)?$`)

// Version warns about a version if quoin plugin upgrade does not know its successor.
func Version(m manifest.Manifest) []Problem {
	if ordered.MatchString(m.Version) {
		return nil
	}
	return []Problem{{Warning, "version-order", manifestField("version"), fmt.Sprintf("%q says of no other version whether it is newer, so that quoin plugin upgrade takes none without --any-version", m.Version),
		"write numbers, such as 0.1.0"}}
}

// tools warns about the tools, one by one and together.
func (r *Report) tools(d *protocol.Description) {
	if len(d.Tools) > manyTools {
		r.add(Warning, "many-tools", "plugin "+d.ID, fmt.Sprintf("it offers %d tools; models choose badly among more than %d", len(d.Tools), manyTools),
			"merge those that differ in one parameter, or split the plugin")
	}
	if len(d.Tools) == 0 && !d.Hooks() {
		r.add(Warning, "no-tools", "plugin "+d.ID, "it offers no tools and has no hooks", "add a tool, or do not install it")
	}
	safe, texts := map[string]string{}, map[string]string{}
	for _, t := range d.Tools {
		r.Tools = append(r.Tools, t.Name)
		r.tool(t)
		r.toolName(t.Name, safe)
		text := strings.ToLower(strings.TrimSpace(t.Description))
		if other, twice := texts[text]; twice {
			r.add(Warning, "same-description", "tool "+t.Name, fmt.Sprintf("the description is that of %s; a model cannot tell them apart", other), "say what differs")
		}
		texts[text] = t.Name
	}
}

// toolName warns about names that do not become functions, or not under that name.
func (r *Report) toolName(name string, seen map[string]string) {
	safe := catalog.SafeName(name)
	where := "tool " + name
	switch other, twice := seen[safe]; {
	case twice:
		r.add(Warning, "name-collision", where, fmt.Sprintf("%s and %s are both tools.%s in JavaScript, so neither becomes a function", other, name, safe), "rename one of them")
	case catalog.IsTaken(safe):
		r.add(Warning, "name-taken", where, fmt.Sprintf("tools.%s is something else, so the tool does not become a function", safe), "rename it")
	case safe != name:
		r.add(Warning, "unsafe-name", where, fmt.Sprintf("the name is no JavaScript identifier; cells have to write tools.%s", safe), fmt.Sprintf("name it %s", safe))
	}
	seen[safe] = name
}

// tool warns about one tool.
func (r *Report) tool(t protocol.ToolInfo) {
	where := "tool " + t.Name
	switch n := len([]rune(strings.TrimSpace(t.Description))); {
	case n < shortDescription:
		r.add(Warning, "short-description", where, fmt.Sprintf("the description %q has %d characters; a model chooses by it", t.Description, n), "say what the tool does and when to use it")
	case len(t.Description) > longDescription:
		r.add(Warning, "long-description", where, fmt.Sprintf("the description has %d bytes; models read about %d", len(t.Description), longDescription), "move examples into examples and details into the parameters")
	}
	if n := len(t.Parameters); n > hugeSchema {
		r.add(Warning, "huge-schema", where, fmt.Sprintf("the input schema has %d bytes; models read about %d", n, hugeSchema), "split the tool, or take fewer parameters")
	}
	for _, name := range undescribed(t.Parameters) {
		r.add(Warning, "undescribed-parameter", where, fmt.Sprintf("the parameter %q has no description", name), "say what it means, with its unit or format")
	}
	for _, name := range unknownRequired(t.Parameters) {
		r.add(Warning, "unknown-required", where, fmt.Sprintf("the input schema requires %q, which is not among its properties", name), "add the property, or do not require it")
	}
	if t.Output == nil {
		r.add(Warning, "no-output-schema", where, "there is no output schema, so a model has to guess what comes back", "describe the result")
		return
	}
	for i, e := range t.Examples {
		if e.Output == nil {
			continue
		}
		if err := manifest.ValidateJSON(t.Output, e.Output); err != nil {
			r.add(Warning, "example-output", where, fmt.Sprintf("the output of example %d does not fit the output schema: %v", i+1, err), "correct one of the two")
		}
	}
}

// undescribed are the properties at the top of a schema that say nothing about
// themselves, in order. One that refers to something else may say it there.
func undescribed(schema json.RawMessage) []string {
	var out []string
	for _, p := range jsonschema.Parse(schema).Root().Get("properties").Fields() {
		if v := p.Value; v.Is(jsonschema.Object) && v.Get("description").Str() == "" && v.Get("title").Str() == "" && v.Get("$ref") == nil && v.Get("const") == nil {
			out = append(out, p.Key)
		}
	}
	slices.Sort(out)
	return out
}

// unknownRequired are the required names that the schema does not know.
func unknownRequired(schema json.RawMessage) []string {
	s := jsonschema.Parse(schema).Root()
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if s.Get(keyword) != nil {
			return nil
		}
	}
	return slices.DeleteFunc(s.Get("required").Words(), func(name string) bool { return s.Get("properties").Get(name) != nil })
}
