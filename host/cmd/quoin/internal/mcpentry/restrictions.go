package mcpentry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// harmless are fields that are not taken, and leave a server no more than it had. Any other
// field that is not known may be a restriction.
var harmless = []string{
	"$schema", "alwaysAllow", "auth", "authProviderType", "autoApprove", "comment", "description", "dev", "displayName",
	"envFile", "extensionName", "gallery", "headersHelper", "icon", "iconUrl", "id", "initTimeout", "logoUrl", "name",
	"note", "oauth", "provider", "providerUrl", "required", "settings", "supports_parallel_tool_calls", "tags", "timeout",
	"title", "trust", "trustHints", "version", "watchPaths",
}

// disable leaves a server out because of a restriction that Quoin cannot have.
func (c *conversion) disable(format string, args ...any) {
	c.Entry.Disabled = true
	c.note("%s: the server is disabled; write allow or deny if it has to have fewer tools, and remove disabled", fmt.Sprintf(format, args...))
}

// off leaves a server out that the other host leaves out, whatever its other fields say.
func (c *conversion) off(disabled bool) { c.Entry.Disabled = c.Entry.Disabled || disabled }

// Names of tools become patterns. What has a meaning in a pattern stands for itself where tools
// are allowed, and stays where they are denied: hosts differ in whether names are patterns.
var (
	asName    = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	asPattern = strings.NewReplacer(`\`, `\\`, "[", `\[`)
)

// allow takes the tools that there are.
func (c *conversion) allow(field string, v any) {
	if _, isList := v.([]any); !isList || c.Entry.Allow != nil {
		c.disable("%s is not taken, and is a restriction", field)
		return
	}
	c.Entry.Allow = c.texts(field, v)
	for i, name := range c.Entry.Allow {
		if strings.Contains(name, "(") { // Gemini
			c.note("%s has a name with arguments, which allows no tool: write the name alone into allow", field)
		}
		if name != "*" { // Copilot: all tools
			c.Entry.Allow[i] = asName.Replace(name)
		}
	}
}

// deny takes the tools that there are not.
func (c *conversion) deny(field string, v any) {
	for _, name := range c.texts(field, v) {
		c.Entry.Deny = append(c.Entry.Deny, asPattern.Replace(name))
	}
}

// Where hosts have names of servers, next to the servers.
var (
	allowedServers  = [][]string{{"mcp", "allowed"}, {"allowMCPServers"}}                                                        // Gemini
	excludedServers = [][]string{{"mcp", "excluded"}, {"excludeMCPServers"}, {"disabledMcpServers"}, {"disabledMcpjsonServers"}} // Gemini, Claude Code
	toolSwitches    = []string{"tools", "permission"}                                                                            // opencode
)

// besides are the objects that have restrictions: the file, and its part about this folder.
func besides(root map[string]any, here Here) []map[string]any {
	out := []map[string]any{root}
	for path, v := range objectAt(root, []string{"projects"}) {
		if project, ok := v.(map[string]any); ok && here.Folder(path) {
			out = append(out, project)
		}
	}
	return out
}

// restrict takes over what stands next to the servers about this one.
func (c *conversion) restrict(beside map[string]any) {
	for _, at := range allowedServers {
		if list := listAt(beside, at); list != nil && !slices.Contains(list, any(c.As)) {
			c.Entry.Disabled = true
			c.note("%s does not have it, so that it is disabled", strings.Join(at, "."))
		}
	}
	for _, at := range excludedServers {
		if slices.Contains(listAt(beside, at), any(c.As)) {
			c.Entry.Disabled = true
			c.note("%s has it, so that it is disabled", strings.Join(at, "."))
		}
	}
	for _, field := range toolSwitches {
		switches, ok := beside[field].(map[string]any)
		if !ok && beside[field] != nil {
			switches = map[string]any{"*": beside[field]}
		}
		for _, pattern := range slices.Sorted(maps.Keys(switches)) {
			c.toolSwitch(field+"."+pattern, pattern, switches[pattern])
		}
	}
}

// notInTool is what opencode replaces in the names of a server and its tools.
var notInTool = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolSwitch takes a pattern of SERVER_TOOL and whether opencode has tools of such names.
func (c *conversion) toolSwitch(field, pattern string, value any) {
	prefix := notInTool.ReplaceAllString(c.As, "_") + "_"
	tools, mine := strings.CutPrefix(pattern, prefix)
	literal, _, isPattern := strings.Cut(strings.ReplaceAll(pattern, "?", "*"), "*")
	every := isPattern && strings.HasPrefix(prefix, literal) || tools == "*"
	switch {
	case !mine && !every || value == true || value == "allow":
	case value == "ask": // as other hosts do without a word
		c.note("%.80s is not taken", field)
	case value != false && value != "deny":
		c.disable("%.80s is not taken, and may be a restriction", field)
	case every:
		c.Entry.Disabled = true
		c.note("%.80s turns tools of it off, so that it is disabled", field)
	default:
		c.Entry.Deny = append(c.Entry.Deny, asPattern.Replace(tools))
		c.note("%.80s is in deny", field)
	}
}

// listAt returns the list at a path, nil if there is no list.
func listAt(root map[string]any, path []string) []any {
	last := len(path) - 1
	list, _ := objectAt(root, path[:last])[path[last]].([]any)
	return list
}
