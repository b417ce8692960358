package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// ConfigMismatch is one thing in a plugin's configuration that its manifest's
// configSchema does not allow.
type ConfigMismatch struct {
	// Path leads to it from the plugin's configuration: names, and indexes of lists.
	// It is empty if the configuration as a whole is meant.
	Path []string
	// Text says what is wrong, such as "is a number, expected a string".
	Text string
}

// Field is the place in a host's configuration: plugins.config.ID and the path.
func (c ConfigMismatch) Field(pluginID string) string {
	field := "plugins.config." + pluginID
	for _, name := range c.Path {
		field += "." + name
	}
	return field
}

// CheckConfig validates a configuration against the manifest's configSchema, if it has
// one, and returns every mismatch, sorted by path. A nil config is an empty object. The
// error is about the schema itself.
func (m Manifest) CheckConfig(config json.RawMessage) ([]ConfigMismatch, error) {
	if m.ConfigSchema == nil {
		return nil, nil
	}
	if len(config) == 0 {
		config = []byte("{}")
	}
	err := ValidateJSON(m.ConfigSchema, config)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	list := mismatches(invalid)
	slices.SortFunc(list, func(a, b ConfigMismatch) int { return slices.Compare(a.Path, b.Path) })
	return list, nil
}

// mismatches are the ends of the tree of causes.
func mismatches(e *jsonschema.ValidationError) []ConfigMismatch {
	if len(e.Causes) == 0 {
		return mismatch(e.InstanceLocation, e.ErrorKind)
	}
	var list []ConfigMismatch
	for _, cause := range e.Causes {
		list = append(list, mismatches(cause)...)
	}
	return list
}

// mismatch puts one failed rule into the words of other mistakes in configurations.
func mismatch(path []string, k jsonschema.ErrorKind) []ConfigMismatch {
	switch k := k.(type) {
	case *kind.Type:
		want := slices.Sorted(slices.Values(k.Want))
		for i, w := range want {
			want[i] = withArticle(w)
		}
		return []ConfigMismatch{{path, fmt.Sprintf("is %s, expected %s", withArticle(k.Got), strings.Join(want, " or "))}}
	case *kind.Enum:
		return []ConfigMismatch{{path, fmt.Sprintf("is %s, expected one of %s", literals(k.Got), literals(k.Want...))}}
	case *kind.AdditionalProperties:
		var list []ConfigMismatch
		for _, name := range k.Properties {
			list = append(list, ConfigMismatch{append(slices.Clip(path), name), "is no such field of the plugin's configSchema"})
		}
		return list
	case *kind.Required:
		var list []ConfigMismatch
		for _, name := range k.Missing {
			list = append(list, ConfigMismatch{append(slices.Clip(path), name), "is missing"})
		}
		return list
	}
	return []ConfigMismatch{{path, "does not fit: " + k.LocalizedString(message.NewPrinter(language.English))}}
}

// withArticle writes a type of JSON Schema in a sentence.
func withArticle(name string) string {
	switch name {
	case "null":
		return name
	case "array":
		return "a list"
	case "integer", "object":
		return "an " + name
	}
	return "a " + name
}

// literals writes values as JSON.
func literals(values ...any) string {
	list := make([]string, len(values))
	for i, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?") // they come out of JSON
		}
		list[i] = string(b)
	}
	return strings.Join(list, ", ")
}
