package main

import "github.com/quoinhq/quoin/sdk"

// prompt is what a model reads about the namespace with every call.
const prompt = "Shell.run(command, options?) runs a shell command and returns {status, exitCode, output}; a command that takes longer than options.yieldMs (10 s) is then \"running\". " +
	"Shell.start(command, options?) does not wait. Options: workdir, env, timeout (s), pty, ….\n" +
	"Shell.sh`grep ${word} *.md` quotes its values. Results have methods: await r.wait() until it ends, with all of its output, r.poll({waitMs}) for new output, r.log({offset, limit}), r.write(text), r.sendKeys(...keys), r.kill().\n" +
	"Shell.list() and Shell.get(sessionId) find them again."

// namespace is what programs see as Shell.
func namespace(exec, process *sdk.ToolRef) sdk.Namespace {
	session := &sdk.Class{Name: "ShellProcess", Key: "sessionId"}
	action := func(name string) *sdk.VerbRef { return sdk.Verb(process).Fixed("action", name).Returns(session) }
	session.Methods = map[string]*sdk.VerbRef{
		"poll":     action("poll").Options("waitMs", "until", "raw"),
		"wait":     action("poll").Fixed("until", "end").Options("waitMs", "raw"),
		"log":      action("log").Options("offset", "limit", "raw"),
		"write":    action("write").Positional("sessionId", "data").Options("eof"),
		"submit":   action("submit").Positional("sessionId", "data"),
		"sendKeys": action("send-keys").Positional("sessionId").Rest("keys"),
		"paste":    action("paste").Positional("sessionId", "text"),
		"resize":   action("resize").Positional("sessionId", "columns", "rows"),
		"refresh":  action("status").Positional("sessionId"),
		"kill":     action("kill").Positional("sessionId"),
		"clear":    action("clear").Positional("sessionId"),
		"remove":   action("remove").Positional("sessionId"),
	}
	return sdk.Namespace{
		ID: "shell", Global: "Shell", Description: "Runs shell commands, also in the background.", Prompt: prompt,
		Scope: sdk.Scope{
			"run":   sdk.Verb(exec).Positional("command").Options().Returns(session),
			"start": sdk.Verb(exec).Positional("command").Options().Fixed("background", true).Returns(session),
			"sh":    sdk.Verb(exec).Template(fromTemplate).Returns(session),
			"get":   action("status").Positional("sessionId"),
			"list":  sdk.Verb(process).Fixed("action", "list").ReturnsIn("processes", session),
		},
	}
}
