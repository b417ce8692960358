package host

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/titanous/json5"
)

// File is the content of a configuration file: JSON5, so comments, trailing
// commas and bare keys are fine.
//
//	{
//	  tools: { codeMode: { enabled: true, timeoutMs: 10000 } },
//	  guest: { path: "/usr/lib/quoin/quoin-guest" },
//	  plugins: { config: { calendar: { timeZone: "Europe/Paris" } } },
//	}
type File struct {
	// Settings hold the limits; Settings.Disabled unless the file enables code mode.
	Settings Settings
	// GuestPath names the guest executable; empty means the default search.
	GuestPath string
	// PluginConfig is each plugin's own configuration, by plugin id.
	PluginConfig map[string]json.RawMessage
}

// ConfigError says which field of a configuration is wrong, and what it takes.
type ConfigError struct {
	File  string
	Field string
	Got   any
	Want  string
}

func (e *ConfigError) Error() string {
	got, err := json.Marshal(e.Got)
	if err != nil {
		got = []byte(fmt.Sprint(e.Got))
	}
	return fmt.Sprintf("%s: %s is %s, expected %s", e.File, e.Field, got, e.Want)
}

// LoadFile reads a configuration file. Numbers outside their range are clamped;
// wrong types, unknown fields and text that is not JSON5 are a *ConfigError. A
// file that cannot be read is an error of package os.
func LoadFile(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var doc any
	if err := json5.Unmarshal(b, &doc); err != nil {
		return nil, &ConfigError{File: path, Field: "the text", Got: err.Error(), Want: "JSON5"}
	}
	f := &File{Settings: Settings{Disabled: true}}
	r := fileReader{file: path}
	r.object("the file", doc, map[string]func(string, any){
		"tools": func(name string, v any) {
			r.object(name, v, map[string]func(string, any){"codeMode": func(name string, v any) { r.codeMode(name, v, &f.Settings) }})
		},
		"guest": func(name string, v any) {
			r.object(name, v, map[string]func(string, any){"path": func(name string, v any) { r.text(name, v, &f.GuestPath) }})
		},
		"plugins": func(name string, v any) {
			r.object(name, v, map[string]func(string, any){"config": func(name string, v any) { r.pluginConfig(name, v, f) }})
		},
	})
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

// fileReader walks a decoded document and keeps the first error.
type fileReader struct {
	file string
	err  error
}

func (r *fileReader) fail(field string, got any, want string) {
	if r.err == nil {
		r.err = &ConfigError{File: r.file, Field: field, Got: got, Want: want}
	}
}

// object calls the reader of each field present, in order of name.
func (r *fileReader) object(name string, v any, fields map[string]func(string, any)) {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(name, v, "an object")
		return
	}
	prefix := name + "."
	if name == "the file" {
		prefix = ""
	}
	known := make([]string, 0, len(fields))
	for k := range fields {
		known = append(known, k)
	}
	sort.Strings(known)
	for _, k := range sortedKeys(m) {
		read, ok := fields[k]
		if !ok {
			r.fail(prefix+k, m[k], "no such field; the fields here are "+strings.Join(known, ", "))
			return
		}
		read(prefix+k, m[k])
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (r *fileReader) text(name string, v any, dst *string) {
	s, ok := v.(string)
	if !ok {
		r.fail(name, v, "a string")
		return
	}
	*dst = s
}

func (r *fileReader) pluginConfig(name string, v any, f *File) {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(name, v, "an object with one entry per plugin id")
		return
	}
	f.PluginConfig = make(map[string]json.RawMessage, len(m))
	for id, c := range m {
		b, err := json.Marshal(c)
		if err != nil {
			r.fail(name+"."+id, fmt.Sprint(c), "a value that JSON can hold")
			return
		}
		f.PluginConfig[id] = b
	}
}

// codeMode reads the shorthand true or false, or the object. Only enabled: true
// enables.
func (r *fileReader) codeMode(name string, v any, s *Settings) {
	if b, ok := v.(bool); ok {
		s.Disabled = !b
		return
	}
	number := func(sp span, set func(int64)) func(string, any) {
		return func(name string, v any) { r.number(name, v, sp, set) }
	}
	r.object(name, v, map[string]func(string, any){
		"enabled":             func(name string, v any) { r.flag(name, v, func(b bool) { s.Disabled = !b }) },
		"runtime":             func(name string, v any) { r.choice(name, v, []string{"quickjs", "quickjs-wasi"}, func(string) {}) },
		"mode":                func(name string, v any) { r.choice(name, v, []string{"only"}, func(string) {}) },
		"isolation":           func(name string, v any) { r.isolation(name, v, s) },
		"onOutputLimit":       func(name string, v any) { r.outputPolicy(name, v, s) },
		"languages":           func(name string, v any) { r.languages(name, v, s) },
		"timeoutMs":           number(timeoutSpan, func(n int64) { s.Timeout = time.Duration(n) * time.Millisecond }),
		"cpuBudgetMs":         number(cpuSpan, func(n int64) { s.CPUBudget = time.Duration(n) * time.Millisecond }),
		"memoryLimitBytes":    number(memorySpan, func(n int64) { s.MemoryLimit = n }),
		"maxOutputBytes":      number(outputSpan, func(n int64) { s.MaxOutput = n }),
		"maxSnapshotBytes":    number(snapshotSpan, func(n int64) { s.MaxSnapshot = n }),
		"maxPendingToolCalls": number(pendingSpan, func(n int64) { s.MaxPendingCalls = n }),
		"snapshotTtlSeconds":  number(ttlSpan, func(n int64) { s.SnapshotTTL = time.Duration(n) * time.Second }),
		"maxSuspendedRuns":    number(suspendedSpan, func(n int64) { s.MaxSuspended = n }),
		"searchDefaultLimit":  number(searchSpan, func(n int64) { s.SearchLimit = n }),
		"maxSearchLimit":      number(maxSearchSpan, func(n int64) { s.MaxSearchLimit = n }),
	})
}

func (r *fileReader) number(name string, v any, sp span, set func(int64)) {
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) {
		r.fail(name, v, fmt.Sprintf("an integer from %d to %d", sp.min, sp.max))
		return
	}
	set(int64(min(max(n, float64(sp.min)), float64(sp.max))))
}

func (r *fileReader) flag(name string, v any, set func(bool)) {
	b, ok := v.(bool)
	if !ok {
		r.fail(name, v, "true or false")
		return
	}
	set(b)
}

func (r *fileReader) choice(name string, v any, choices []string, set func(string)) {
	s, ok := v.(string)
	if !ok || !slices.Contains(choices, s) {
		r.fail(name, v, "one of "+strings.Join(choices, ", "))
		return
	}
	set(s)
}

func (r *fileReader) outputPolicy(name string, v any, s *Settings) {
	r.choice(name, v, []string{string(OutputFail), string(OutputTruncate)}, func(p string) { s.OnOutputLimit = OutputPolicy(p) })
}

func (r *fileReader) isolation(name string, v any, s *Settings) {
	choices := []string{string(IsolationRequired), string(IsolationBestEffort)}
	r.choice(name, v, choices, func(p string) { s.Isolation = IsolationPolicy(p) })
}

func (r *fileReader) languages(name string, v any, s *Settings) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		r.fail(name, v, "a non-empty list of "+strings.Join(allLanguages, ", "))
		return
	}
	for i, l := range list {
		r.choice(fmt.Sprintf("%s[%d]", name, i), l, allLanguages, func(l string) { s.Languages = append(s.Languages, l) })
	}
}
