package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
)

// cmdInquire puts an approval with the questions of a file into a state directory, as a host
// does when its tool asks, and writes its id into a variable: inquire STATE FILE > VAR
func cmdInquire(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 || args[2] != ">" {
		ts.Fatalf("usage: inquire STATE FILE > VAR")
	}
	state, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{})
	ts.Check(err)
	defer func() { ts.Check(state.Close()) }()
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	var questions []codemode.Question
	ts.Check(json.Unmarshal(b, &questions))
	call := policy.Call{
		Kind: policy.KindTool, ToolID: "mcp:shop:order", ToolName: "order", Owner: "shop", Params: json.RawMessage(`{"n":1}`),
		Session: codemode.Session{SessionID: "cli"}, RunID: "run_00000000000000000000000000000000", CallID: "bridge:mcp:1",
	}
	a, err := policy.NewInquiry(call, questions, 0, time.Now())
	ts.Check(err)
	ts.Check(state.Approvals().Add(context.Background(), a))
	ts.Setenv(args[3], a.ID)
}
