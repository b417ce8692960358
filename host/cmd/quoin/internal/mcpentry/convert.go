package mcpentry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// conversion makes an entry of one server.
type conversion struct {
	Found
	here Here
	err  error // the first thing that cannot be taken over
}

// fields say how each field that hosts write becomes one of an entry.
var fields = map[string]func(*conversion, any){
	"type":        (*conversion).transport,
	"transport":   (*conversion).transport,
	"command":     (*conversion).command,
	"args":        (*conversion).args,
	"cwd":         func(c *conversion, v any) { c.Entry.Dir = c.place("cwd", c.plain("cwd", c.text("cwd", v))) },
	"dir":         func(c *conversion, v any) { c.Entry.Dir = c.place("dir", c.plain("dir", c.text("dir", v))) },
	"env":         func(c *conversion, v any) { c.entries("env", &c.Entry.Env, v) },
	"environment": func(c *conversion, v any) { c.entries("environment", &c.Entry.Env, v) },
	"source":      func(*conversion, any) {}, // Zed: one of an extension has no command
	"env_vars":    func(c *conversion, v any) { c.Entry.PassEnv = c.texts("env_vars", v) },
	"passEnv":     func(c *conversion, v any) { c.Entry.PassEnv = c.texts("passEnv", v) },

	"baseUrl":              func(c *conversion, v any) { c.address("baseUrl", v) },
	"httpUrl":              func(c *conversion, v any) { c.address("httpUrl", v) }, // Gemini: counts before url
	"serverUrl":            func(c *conversion, v any) { c.address("serverUrl", v) },
	"url":                  func(c *conversion, v any) { c.address("url", v) },
	"headers":              func(c *conversion, v any) { c.entries("headers", &c.Entry.Headers, v) },
	"http_headers":         func(c *conversion, v any) { c.entries("http_headers", &c.Entry.Headers, v) },
	"env_http_headers":     (*conversion).headersOfVariables,
	"bearer_token_env_var": (*conversion).bearer,

	"startup_timeout_sec": func(c *conversion, v any) { c.Entry.ConnectTimeoutMs = c.number("startup_timeout_sec", v, 1000) },
	"startup_timeout_ms":  func(c *conversion, v any) { c.Entry.ConnectTimeoutMs = c.number("startup_timeout_ms", v, 1) },
	"connectTimeoutMs":    func(c *conversion, v any) { c.Entry.ConnectTimeoutMs = c.number("connectTimeoutMs", v, 1) },
	"tool_timeout_sec":    func(c *conversion, v any) { c.Entry.CallTimeoutMs = c.number("tool_timeout_sec", v, 1000) },
	"callTimeoutMs":       func(c *conversion, v any) { c.Entry.CallTimeoutMs = c.number("callTimeoutMs", v, 1) },

	"enabled_tools":  func(c *conversion, v any) { c.allow("enabled_tools", v) },
	"enabledTools":   func(c *conversion, v any) { c.allow("enabledTools", v) },
	"includeTools":   func(c *conversion, v any) { c.allow("includeTools", v) },
	"allowed_tools":  func(c *conversion, v any) { c.allow("allowed_tools", v) },
	"allowedTools":   func(c *conversion, v any) { c.allow("allowedTools", v) },
	"tools":          func(c *conversion, v any) { c.allow("tools", v) },
	"disabled_tools": func(c *conversion, v any) { c.deny("disabled_tools", v) },
	"disabledTools":  func(c *conversion, v any) { c.deny("disabledTools", v) },
	"excludeTools":   func(c *conversion, v any) { c.deny("excludeTools", v) },
	"excluded_tools": func(c *conversion, v any) { c.deny("excluded_tools", v) },
	"allow":          func(c *conversion, v any) { c.Entry.Allow = c.texts("allow", v) },
	"deny":           func(c *conversion, v any) { c.Entry.Deny = append(c.Entry.Deny, c.texts("deny", v)...) },
	"active":         func(c *conversion, v any) { c.off(!c.boolean("active", v)) },
	"isActive":       func(c *conversion, v any) { c.off(!c.boolean("isActive", v)) },
	"enabled":        func(c *conversion, v any) { c.off(!c.boolean("enabled", v)) },
	"disabled":       func(c *conversion, v any) { c.off(c.boolean("disabled", v)) },
}

// convert makes a Found of a server, without its name.
func convert(as string, server any, here Here, beside []map[string]any) (Found, error) {
	object, ok := server.(map[string]any)
	if !ok {
		return Found{}, errors.New("it is no object")
	}
	c := conversion{Found: Found{As: as}, here: here}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch take := fields[name]; {
		case object[name] == nil:
		case take != nil:
			take(&c, object[name])
		case slices.Contains(harmless, name):
			c.note("%.64s is not taken", name)
		default:
			c.disable("%.64s is not taken, and may be a restriction", name)
		}
	}
	for _, b := range beside {
		c.restrict(b)
	}
	return c.Found, c.err
}

func (c *conversion) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(c.Notes, n) {
		c.Notes = append(c.Notes, n)
	}
}

func (c *conversion) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// transport looks at how the server is spoken to, which otherwise follows from command
// and url.
func (c *conversion) transport(v any) {
	switch t := c.text("type", v); strings.ToLower(t) {
	case "stdio", "local", "http", "streamable-http", "streamable_http", "streamablehttp", "remote", "":
	case "sse":
		c.fail("it speaks HTTP with server-sent events, which newer servers have replaced by streamable HTTP: look for that address in its documentation")
	default:
		c.fail("it has the transport %.32s; Quoin has stdio and streamable HTTP", t)
	}
}

func (c *conversion) text(field string, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	c.fail("its field %.80s is no text", field)
	return ""
}

func (c *conversion) texts(field string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		c.fail("its field %s is no list", field)
		return nil
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = c.text(field, item)
	}
	return out
}

func (c *conversion) boolean(field string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		c.fail("its field %s is neither true nor false", field)
	}
	return b
}

// number reads a time and returns it in milliseconds.
func (c *conversion) number(field string, v any, unit float64) int64 {
	f, err := strconv.ParseFloat(c.text(field, v), 64)
	if f *= unit; err != nil || !(f > 0 && f < math.MaxInt32) {
		c.fail("its field %s is no time", field)
		return 0
	}
	return int64(math.Ceil(f))
}

func (c *conversion) args(v any) {
	for _, a := range c.texts("args", v) {
		c.Entry.Args = append(c.Entry.Args, c.plain("args", a))
	}
}

// command reads a program. Some hosts take arguments in the same text, opencode in a list,
// and older versions of Zed in an object that has env too.
func (c *conversion) command(v any) {
	switch v := v.(type) {
	case []any:
		if words := c.texts("command", v); len(words) > 0 {
			c.program(words[0], words[1:])
		}
		return
	case map[string]any:
		if v["args"] != nil {
			c.args(v["args"])
		}
		if v["env"] != nil {
			c.entries("env", &c.Entry.Env, v["env"])
		}
		c.command(v["path"])
		return
	}
	words, err := Words(c.text("command", v), c.here.IsFile)
	if err != nil {
		c.fail("%s", err)
		return
	}
	if len(words) > 1 {
		c.note("command had arguments in it, which stand in args now")
	}
	c.program(words[0], words[1:])
}

// program takes a program and its first arguments.
func (c *conversion) program(name string, args []string) {
	for i := range args {
		args[i] = c.plain("args", args[i])
	}
	c.Entry.Command, c.Entry.Args = c.plain("command", name), slices.Concat(args, c.Entry.Args)
	if strings.ContainsAny(name, `/\`) {
		c.place("command", name)
	}
}

// Words returns a program and its arguments of a text that should have been the name of the
// program alone. Paths may have spaces.
func Words(command string, isFile func(string) bool) ([]string, error) {
	words := strings.Fields(command)
	switch {
	case len(words) < 2 || isFile(command):
		return []string{command}, nil
	case assignment.MatchString(words[0]):
		return nil, errors.New("command sets a variable before the program: put the variable into env, and the program alone into command")
	case strings.ContainsAny(command, "&|;<>`") || strings.Contains(command, "$("):
		return nil, errors.New("command is a line for a shell, and Quoin starts programs without one: put the program alone into command, its arguments into args, and its folder into dir")
	case strings.ContainsAny(command, `"'`) || strings.ContainsAny(words[0], `/\`) && !isFile(words[0]):
		return nil, errors.New("command has spaces in it, and is no file: put the program alone into command, and its arguments into args")
	}
	return words, nil
}

// place looks at a path, which another host may start elsewhere.
func (c *conversion) place(field, path string) string {
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$") && !strings.HasPrefix(path, "${") {
		c.note("%s starts with %c, which stands for something in a shell alone: write the whole path", field, path[0])
	} else if path != "" && !filepath.IsAbs(path) && !strings.Contains(path, "${") {
		c.note("%s is relative: it starts where Quoin runs, so write the whole path", field)
	}
	return path
}

// address takes the first of the addresses of a server.
func (c *conversion) address(field string, v any) {
	address := c.plain("url", c.text(field, v))
	if c.Entry.URL != "" && c.Entry.URL != address {
		c.note("%s is another address, which is not taken", field)
		return
	}
	c.Entry.URL = address
	if ref := reference.FindString(address); ref != "" {
		c.fail("url contains %s, and Quoin replaces nothing there: write the value in its place", shown(ref))
	}
}

// dollar writes the references of other hosts, such as {env:NAME} of opencode, as ${NAME}.
func (c *conversion) dollar(field, text string) string {
	if strings.Contains(text, "{file:") {
		c.note("%s contains {file:…}, which Quoin does not know: put the value in its place", field)
	}
	return ofEnv.ReplaceAllString(text, "$${$1}")
}

// plain takes the defaults of a text in which Quoin replaces nothing.
func (c *conversion) plain(field, text string) string {
	return reference.ReplaceAllStringFunc(c.dollar(field, text), func(ref string) string {
		if name, value, ok := defaulted(ref); ok {
			c.note("%s has the default of %.64s in its place, because Quoin replaces nothing there", field, name)
			return value
		}
		c.note("%s contains %s, which stays as it is written: put the value in its place", field, shown(ref))
		return ref
	})
}

// defaulted returns the variable of a reference and the value that it has if it is not set.
func defaulted(ref string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(ref[2:len(ref)-1], ":-")
	return name, value, ok && variable.MatchString(name) && !strings.Contains(value, "${")
}

// entries reads texts by name, in which variables are replaced.
func (c *conversion) entries(field string, to *map[string]string, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		c.fail("its field %s is no object", field)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if object[name] != nil { // VS Code: the variable is not set
			c.put(to, name, c.variables(field+"."+name, c.text(field+"."+name, object[name])))
		}
	}
}

func (c *conversion) put(to *map[string]string, name, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = value
}

func (c *conversion) headersOfVariables(v any) {
	object, ok := v.(map[string]any)
	if !ok {
		c.fail("its field env_http_headers is no object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		c.put(&c.Entry.Headers, name, c.named("env_http_headers", object[name]))
	}
}

func (c *conversion) bearer(v any) {
	c.put(&c.Entry.Headers, "Authorization", "Bearer "+c.named("bearer_token_env_var", v))
}

// named returns a reference to the variable that a field names.
func (c *conversion) named(field string, v any) string {
	name := c.text(field, v)
	if !variable.MatchString(name) {
		c.fail("its field %s names no variable", field)
	}
	return "${" + name + "}"
}

// How hosts write what stands for something else, and what Quoin takes.
var (
	ofEnv      = regexp.MustCompile(`\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	reference  = regexp.MustCompile(`\$\{[^}]*\}`)
	dollars    = regexp.MustCompile(`\$\{[^}]*\}|\$(?:[^A-Za-z_]|$)`) // what is no $NAME
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// hostWords stand for something that only the other host knows.
var hostWords = []string{"userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator", "extensionPath"}

// variables returns a text with the references that Quoin knows.
func (c *conversion) variables(field, text string) string {
	text = c.dollar(field, text)
	if strings.Contains(dollars.ReplaceAllString(text, ""), "$") {
		c.note("%s has a $, which stays as it is written: write ${NAME} for a variable", field)
	}
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		word := ref[2 : len(ref)-1]
		name := word
		if input, ok := strings.CutPrefix(word, "input:"); ok {
			name = variableOf(input)
			c.note("%s asked for %.64s: set the variable %s", field, input, name)
		} else if before, value, ok := defaulted(ref); ok {
			if !c.here.IsSet(before) {
				c.note("%s has the default of %.64s, which is not set: write ${%.64s} to have the variable", field, before, before)
				return value
			}
			name = before
			c.note("%s has a default for %.64s, which is not taken, because the variable is set", field, before)
		}
		if !variable.MatchString(name) || slices.Contains(hostWords, name) {
			c.note("%s contains %s, which Quoin does not know: put the value in its place", field, shown(ref))
			return ref
		}
		return "${" + name + "}"
	})
}

// shown is a reference without what may be a value in it.
func shown(ref string) string {
	end := strings.IndexFunc(ref[2:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return ref[:2+min(end, 64)] + map[bool]string{true: "}", false: "…}"}[end == len(ref)-3]
}

// variableOf makes the name of a variable.
func variableOf(id string) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, id)
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "_" + name
	}
	return name
}
