package main

import "github.com/quoinhq/quoin/sdk"

// newPlugin returns the well-formed part of the plugin: its tools, and a
// namespace with a verb for each.
func newPlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "rude", Version: "1.0.0", Description: "Misbehaves on command, for tests of the host."}, nil)
	var secrets vault
	p.OnConfigure(secrets.open)
	p.AddNamespace(sdk.Namespace{
		ID:          "rude",
		Global:      "Rude",
		Description: "Misbehaviour on command, for tests of the host.",
		Prompt:      "Not for use. Rude.echo(value) answers; every other verb misbehaves.",
		Scope: sdk.Scope{
			"echo":          sdk.Verb(add(p, sdk.Tool{Name: "rude_echo", Description: "Answers with its input, the call and the process.", ReadOnly: true, Idempotent: true}, echo, echoInput{Value: 1})).Positional("value"),
			"look":          sdk.Verb(add(p, sdk.Tool{Name: "rude_look", Description: "Tells what the process sees of its surroundings.", ReadOnly: true, Idempotent: true}, lookAround, none{})),
			"hang":          sdk.Verb(add(p, sdk.Tool{Name: "rude_hang", Description: "Never answers."}, hang, hangInput{Obey: true})),
			"crash":         sdk.Verb(add(p, sdk.Tool{Name: "rude_crash", Description: "Ends the process in the middle of the call."}, crash, crashInput{How: "kill"})),
			"panic":         sdk.Verb(add(p, sdk.Tool{Name: "rude_panic", Description: "Panics inside the call."}, panics, none{})),
			"floodLogs":     sdk.Verb(add(p, sdk.Tool{Name: "rude_flood_logs", Description: "Writes many lines to the log, standard error and standard output."}, floodLogs, countInput{Count: 1000})),
			"floodProgress": sdk.Verb(add(p, sdk.Tool{Name: "rude_flood_progress", Description: "Reports progress without end."}, floodProgress, countInput{Count: 1000})),
			"huge":          sdk.Verb(add(p, sdk.Tool{Name: "rude_huge", Description: "Answers with 100 MB."}, hugeResult, hugeInput{Megabytes: 20})),
			"slow":          sdk.Verb(add(p, sdk.Tool{Name: "rude_slow", Description: "Takes its time and reports every step."}, slow, slowInput{Steps: 3, Millis: 10})),
			"exitAfter":     sdk.Verb(add(p, sdk.Tool{Name: "rude_exit_after", Description: "Answers, and ends the process later."}, exitAfter, exitInput{Millis: 50})).Positional("millis"),
			"fail":          sdk.Verb(add(p, sdk.Tool{Name: "rude_fail", Description: "Fails with a given code and message."}, fail, failInput{Code: "rude", Message: "No."})),
			"leak":          sdk.Verb(add(p, sdk.Tool{Name: "rude_leak", Description: "Gives its secret away."}, secrets.leak, leakInput{Where: "log"})).Positional("where"),
			"once":          sdk.Verb(add(p, sdk.Tool{Name: "rude_once", Description: "Hangs, and answers when the same call is made again."}, once, none{})),
			"onceRead":      sdk.Verb(add(p, sdk.Tool{Name: "rude_once_read", Description: "rude_once, said to change nothing.", ReadOnly: true}, once, none{})),
			"onceSafe":      sdk.Verb(add(p, sdk.Tool{Name: "rude_once_safe", Description: "rude_once, said to be safe to repeat.", Idempotent: true}, once, none{})),
			"garbage":       sdk.Verb(add(p, sdk.Tool{Name: "rude_garbage", Description: "Answers with something that is not JSON."}, echo, echoInput{})),
			"limits":        map[string]int{"megabytes": maxMegabytes, "count": maxCount},
		},
	})
	return p
}

// add adds a tool with one example.
func add[In, Out any](p *sdk.Plugin, t sdk.Tool, h sdk.Handler[In, Out], example In) *sdk.ToolRef {
	t.Label = t.Name
	t.Examples = []sdk.Example{{Input: example}}
	return sdk.AddTool(p, t, h)
}
