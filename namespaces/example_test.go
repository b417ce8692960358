package namespaces_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/namespaces"
)

func Example() {
	scope, err := namespaces.Serialize(map[string]any{
		"repository": "quoin",
		"get": namespaces.Call{Tool: "get_issue", Mapping: namespaces.Mapping{
			Kind: namespaces.MapPositional, Positional: []string{"id"}}},
	}, namespaces.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := scope.Resolve([]string{"get"}) // the guest said Issues.get(7)
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := call.Mapping.Apply([]json.RawMessage{[]byte("7")})
	fmt.Println(call.Tool, string(input), err)

	_, err = scope.Resolve([]string{"repository"})
	fmt.Println(namespaces.In("issues", err))
	// Output:
	// get_issue {"id":7} <nil>
	// namespace "issues": namespace path is not callable: "repository"
}

// A mapping turns the arguments of a call into the tool's input.
func ExampleMapping_Apply() {
	m := namespaces.Mapping{
		Kind:       namespaces.MapPositional,
		Positional: []string{"room", "text"},
		Rest:       "to",
		Fixed:      map[string]json.RawMessage{"from": []byte(`"agent"`)},
	}
	input, err := m.Apply([]json.RawMessage{[]byte(`"kitchen"`), []byte(`"Tea?"`), []byte(`"ada"`), []byte(`"bob"`)})
	fmt.Println(string(input), err)
	// Output:
	// {"from":"agent","room":"kitchen","text":"Tea?","to":["ada","bob"]} <nil>
}

// Check compares a mapping with the schema of its tool when a plugin is loaded.
func ExampleMapping_Check() {
	schema := json.RawMessage(`{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}`)
	good := namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"id"}}
	bad := namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"number"}}
	fmt.Println(good.Check(schema))
	fmt.Println(bad.Check(schema))
	// Output:
	// <nil>
	// positional field "number" is not in the tool's input schema; it has: id
}

// A global belongs to the plugin that registered it first.
func ExampleRegistry_Register() {
	r := namespaces.NewRegistry()
	scope := func(context.Context, namespaces.RunContext) (any, error) { return map[string]any{}, nil }
	reg := namespaces.Registration{
		PluginID: "issues", ID: "issues", GlobalName: "Issues", Description: "Issues.",
		RequiredTools: []string{"issues_list"}, CreateScope: scope,
	}
	fmt.Println(r.Register(reg))
	reg.PluginID = "tracker"
	fmt.Println(r.Register(reg))
	// Output:
	// <nil>
	// namespace "issues": the id is already registered by plugin "issues"
}

// owned is what a run may reach: tools by the plugin that owns them.
type owned map[string]string

func (o owned) Owned(tool, plugin string) bool { return o[tool] == plugin }

// A run sees a namespace if it may reach all of the namespace's tools.
func ExampleRegistry_Visible() {
	r := namespaces.NewRegistry()
	err := r.Register(namespaces.Registration{
		PluginID: "issues", ID: "issues", GlobalName: "Issues", Description: "Issues.",
		RequiredTools: []string{"issues_list", "issues_create"},
		CreateScope:   func(context.Context, namespaces.RunContext) (any, error) { return map[string]any{}, nil },
	})
	fmt.Println(err)
	fmt.Println(len(r.Visible(owned{"issues_list": "issues", "issues_create": "issues"})))
	fmt.Println(len(r.Visible(owned{"issues_list": "issues"})))
	fmt.Println(len(r.Visible(owned{"issues_list": "issues", "issues_create": "other"})))
	// Output:
	// <nil>
	// 1
	// 0
	// 0
}

// Serialize refuses what a guest could not hold, and names the place.
func ExampleSerialize() {
	_, err := namespaces.Serialize(map[string]any{"labels": []any{"bug", json.RawMessage("{")}}, namespaces.Limits{})
	fmt.Println(err)
	// Output:
	// the value at labels[1] cannot be written as JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input
}

// A result that names a job gets the method kill: await (await Jobs.run("make")).kill().
func ExampleClass() {
	job := &namespaces.Class{Name: "Job", Key: "job", Methods: map[string]namespaces.Call{
		"kill": {Tool: "kill_job", Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"job"}}},
	}}
	scope, err := namespaces.Serialize(map[string]any{"run": namespaces.Call{Tool: "run_job", Returns: job}}, namespaces.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := scope.Resolve([]string{"Job", "prototype", "kill"}) // as the guest asks for it
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := call.Mapping.Apply([]json.RawMessage{json.RawMessage(`"job-7"`)})
	fmt.Println(call.Tool, string(input), err)
	// Output: kill_job {"job":"job-7"} <nil>
}
