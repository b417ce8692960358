package main

import "github.com/quoinhq/quoin/sdk"

const prompt = `Shell.run(command, options?) runs a command and returns {status, exitCode, output, sessionId}; Shell.start(command, options?) does not wait.`

func namespace(exec, process *sdk.ToolRef) sdk.Namespace {
	return sdk.Namespace{
		ID: "shell", Global: "Shell", Description: "Runs shell commands.", Prompt: prompt,
		Scope: sdk.Scope{
			"run":  sdk.Verb(exec).Positional("command"),
			"list": sdk.Verb(process).Fixed("action", "list"),
		},
	}
}
