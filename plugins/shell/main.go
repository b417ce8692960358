// Command shell is the bundled plugin that runs shell commands: the tools exec and
// process, and the namespace Shell.
//
//   - plan.go decides what a call of exec does: where it runs, whether it may, and
//     whether a person decides. The hook (hook.go) and the tool (exec.go) both ask it,
//     so that what the tool does was judged a moment before.
//   - process.go looks at processes and writes to them; internal/shell/sessions keeps
//     them.
//   - namespace.go has what programs see as Shell.
//
// It trusts no command, no process, and not even its own hook: see
// internal/shell/settings for what an operator allows.
package main

import (
	_ "embed"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/sdk"
)

//go:embed plugin.json
var manifest []byte

func main() {
	launch.Main()  // does not return in a process that watches over a command,
	confine.Main() // nor this one in one that starts a command in a sandbox
	sdk.Serve(newPlugin())
}

// newPlugin returns the plugin with everything registered. It is of use once the host
// has configured it.
func newPlugin() *sdk.Plugin {
	p := sdk.New(sdk.ManifestInfo(manifest), nil)
	s := &shell{storage: p.Storage(), logger: p.Logger()}
	p.OnConfigure(s.configure)
	p.OnDrain(s.drain)
	p.OnClose(s.close)
	p.BeforeToolCall(s.before)
	exec, process := s.addExec(p), s.addProcess(p)
	p.AddNamespace(namespace(exec, process))
	return p
}
