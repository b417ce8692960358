package namespaces_test

import (
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
