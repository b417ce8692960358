package benchmodels

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// toolLine is one tool of a list: NAME(PARAMETERS): DESCRIPTION.
var toolLine = regexp.MustCompile(`^([a-z0-9_]+)\((.*)\): (.+)$`)

// parseTool makes a tool of a line. It does nothing when it is called.
func parseTool(line string) (catalog.Tool, error) {
	m := toolLine.FindStringSubmatch(line)
	if m == nil {
		return catalog.Tool{}, fmt.Errorf("%q is no line of a tool", line)
	}
	schema, err := parseParameters(m[2])
	if err != nil {
		return catalog.Tool{}, fmt.Errorf("%s: %w", m[1], err)
	}
	return catalog.Tool{
		Name: m[1], Description: m[3], Parameters: schema,
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return json.RawMessage("null"), nil
		},
	}, nil
}

// property is the JSON Schema of one parameter.
type property struct {
	Type        string    `json:"type"`
	Format      string    `json:"format,omitempty"`
	Description string    `json:"description"`
	Items       *property `json:"items,omitempty"`
}

// parseParameters makes a JSON Schema of parameters such as "id! days:int tags[]".
func parseParameters(text string) (json.RawMessage, error) {
	schema := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		Additional bool                `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]property{}}
	for field := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(field, ":")
		name, isRequired := strings.CutSuffix(name, "!")
		name, isList := strings.CutSuffix(name, "[]")
		p := property{Type: "string", Description: "The " + strings.ReplaceAll(name, "_", " ") + "."}
		switch kind {
		case "":
		case "int":
			p.Type = "integer"
		case "number":
			p.Type = "number"
		case "bool":
			p.Type = "boolean"
		case "time":
			p.Format = "date-time"
		default:
			return nil, fmt.Errorf("%q has an unknown type", field)
		}
		if isList {
			p = property{Type: "array", Description: p.Description, Items: &property{Type: p.Type, Description: "One of them."}}
		}
		schema.Properties[name] = p
		if isRequired {
			schema.Required = append(schema.Required, name)
		}
	}
	return jsontext.Marshal(schema)
}

// services are the tools of testdata/tools.txt, each named after its service.
func services(t testing.TB) []catalog.Tool {
	t.Helper()
	var tools []catalog.Tool
	owner := ""
	for line := range strings.Lines(readFile(t, "tools.txt")) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "== "); ok {
			owner = name
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		tool, err := parseTool(line)
		if err != nil {
			t.Fatal(err)
		}
		tool.Name, tool.Owner = owner+"_"+tool.Name, owner
		tools = append(tools, tool)
	}
	return tools
}

// many returns n tools: the tools of services, and then the tools of further teams, which
// have the same services under names of their own.
func many(t testing.TB, n int) []catalog.Tool {
	t.Helper()
	own := services(t)
	tools := make([]catalog.Tool, 0, n)
	for team := 0; len(tools) < n; team++ {
		for _, tool := range own[:min(len(own), n-len(tools))] {
			if team > 0 {
				tool.Name = fmt.Sprintf("team%02d_%s", team, tool.Name)
				tool.Owner = fmt.Sprintf("team%02d-%s", team, tool.Owner)
			}
			tools = append(tools, tool)
		}
	}
	return tools
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
