package plugins_test

import (
	"context"
	"fmt"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
)

// A host that runs the plugins of a directory and calls a tool.
func Example() {
	ctx := context.Background()
	s, err := plugins.Supervise(ctx, "/etc/quoin/plugins", plugins.SupervisorOptions{DataDir: "/var/lib/quoin/plugins"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range s.Plugins() {
		fmt.Println(p.ID, p.State, p.Reason)
	}
	registry := namespaces.NewRegistry()
	for _, n := range s.Registrations() {
		if err := registry.Register(n); err != nil {
			fmt.Println(err) // for instance a global that another plugin has
		}
	}
	result, err := s.CallTool(ctx, "issues", plugins.CallRequest{Tool: "issues_get", Input: []byte(`{"id": 1}`)}, nil)
	fmt.Println(string(result), err)
	fmt.Println(s.Close())
}
