package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/sdk"
)

// Limits of what a test may ask for.
const (
	maxMegabytes = 512
	maxCount     = 10_000_000
)

type none struct{}

// done is the result of tools that end.
type done struct {
	Done string `json:"done"`
}

type echoInput struct {
	Value any `json:"value,omitempty" jsonschema:"anything"`
}

type echoOutput struct {
	Value any    `json:"value"`
	Call  string `json:"call" jsonschema:"id of the call"`
	Agent string `json:"agent" jsonschema:"the agent the host named"`
	Run   string `json:"run" jsonschema:"the run the host named"`
	PID   int    `json:"pid" jsonschema:"process that answered"`
}

type hangInput struct {
	Obey bool `json:"obey,omitempty" jsonschema:"end when the call is cancelled"`
}

type crashInput struct {
	How  string `json:"how,omitempty" enum:"exit,panic,kill" jsonschema:"exit (default), a panic outside of the call, or being killed"`
	Code int    `json:"code,omitempty" min:"0" max:"125" jsonschema:"exit status"`
}

type countInput struct {
	Count int `json:"count,omitempty" min:"1" max:"10000000" jsonschema:"how many; default 100000"`
	Bytes int `json:"bytes,omitempty" min:"1" max:"1048576" jsonschema:"length of each; default 100"`
}

type hugeInput struct {
	Megabytes int `json:"megabytes,omitempty" min:"1" max:"512" jsonschema:"size of the result; default 100"`
}

type slowInput struct {
	Steps  int `json:"steps,omitempty" min:"1" max:"100000" jsonschema:"how many steps, each reported; default 5"`
	Millis int `json:"millis,omitempty" min:"0" max:"600000" jsonschema:"milliseconds per step; default 100"`
}

type exitInput struct {
	Millis int `json:"millis,omitempty" min:"0" max:"600000" jsonschema:"how long after the answer"`
}

type failInput struct {
	Code    string `json:"code,omitempty" jsonschema:"code of the error; default rude"`
	Message string `json:"message,omitempty" jsonschema:"message of the error"`
	Bytes   int    `json:"bytes,omitempty" min:"1" max:"1048576" jsonschema:"make the message this long"`
	Details int    `json:"details,omitempty" min:"1" max:"1048576" jsonschema:"make the details this long"`
	Retry   bool   `json:"retry,omitempty" jsonschema:"say that the call may be repeated"`
	Effect  string `json:"effect,omitempty" enum:"none,unknown,done" jsonschema:"what the call is said to have changed"`
}

// look is what a plugin process sees of its surroundings.
type look struct {
	Env  []string `json:"env" jsonschema:"names of the environment variables"`
	Args []string `json:"args"`
	Dir  string   `json:"dir" jsonschema:"working directory"`
	PID  int      `json:"pid"`
}

func echo(_ context.Context, c *sdk.Call, in echoInput) (echoOutput, error) {
	return echoOutput{Value: in.Value, Call: c.ID, Agent: c.Run.AgentID, Run: c.Run.RunID, PID: os.Getpid()}, nil
}

func hang(ctx context.Context, c *sdk.Call, in hangInput) (none, error) {
	if err := c.Progress("hanging"); err != nil {
		return none{}, err
	}
	if in.Obey {
		<-ctx.Done()
		return none{}, context.Cause(ctx)
	}
	select {}
}

// crash ends the process in the middle of the call, after a sign of life.
func crash(_ context.Context, c *sdk.Call, in crashInput) (none, error) {
	if err := c.Progress("crashing"); err != nil {
		return none{}, err
	}
	switch in.How {
	case "panic":
		go panic("rude: as you wish")
		select {}
	case "kill":
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return none{}, err
		}
		if err := self.Kill(); err != nil {
			return none{}, err
		}
		select {}
	}
	os.Exit(cmp.Or(in.Code, 3))
	return none{}, nil
}

func panics(context.Context, *sdk.Call, none) (none, error) { panic("rude: as you wish") }

// floodLogs writes to the log, to standard error and to standard output.
func floodLogs(ctx context.Context, c *sdk.Call, in countInput) (done, error) {
	line := strings.Repeat("x", cmp.Or(in.Bytes, 100))
	n := cmp.Or(in.Count, 100_000)
	for i := range n {
		if ctx.Err() != nil {
			return done{}, context.Cause(ctx)
		}
		switch i % 3 {
		case 0:
			c.Logger.Info(line, "n", i)
		case 1:
			fmt.Fprintln(os.Stderr, line)
		case 2:
			fmt.Println(line)
		}
	}
	return done{fmt.Sprintf("%d lines", n)}, nil
}

func floodProgress(_ context.Context, c *sdk.Call, in countInput) (done, error) {
	value := strings.Repeat("x", cmp.Or(in.Bytes, 100))
	n := cmp.Or(in.Count, 100_000)
	for range n {
		if err := c.Progress(value); err != nil {
			return done{}, err
		}
	}
	return done{fmt.Sprintf("%d reports", n)}, nil
}

func hugeResult(_ context.Context, _ *sdk.Call, in hugeInput) (done, error) {
	return done{strings.Repeat("x", cmp.Or(in.Megabytes, 100)<<20)}, nil
}

// slow reports every step and ends early when it is cancelled.
func slow(ctx context.Context, c *sdk.Call, in slowInput) (done, error) {
	steps := cmp.Or(in.Steps, 5)
	pause := time.Duration(cmp.Or(in.Millis, 100)) * time.Millisecond
	for step := range steps {
		if err := c.Progress(sdk.Steps{Done: float64(step + 1), Total: float64(steps), Message: fmt.Sprintf("step %d", step+1)}); err != nil {
			return done{}, err
		}
		select {
		case <-ctx.Done():
			return done{}, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return done{fmt.Sprintf("%d steps", steps)}, nil
}

// exitAfter answers first and leaves later.
func exitAfter(_ context.Context, _ *sdk.Call, in exitInput) (done, error) {
	time.AfterFunc(time.Duration(in.Millis)*time.Millisecond, func() { os.Exit(5) })
	return done{"leaving"}, nil
}

func fail(_ context.Context, _ *sdk.Call, in failInput) (none, error) {
	message := cmp.Or(in.Message, "No.")
	if in.Bytes > len(message) {
		message += strings.Repeat("!", in.Bytes-len(message))
	}
	e := &sdk.Error{Code: cmp.Or(in.Code, "rude"), Message: message, Retryable: in.Retry, Details: map[string]int{"bytes": len(message)}}
	if in.Details > 0 {
		e.Details = strings.Repeat("!", in.Details)
	}
	switch in.Effect {
	case "none":
		e.Effect = sdk.EffectNone
	case "unknown":
		e.Effect = sdk.EffectUnknown
	case "done":
		e.Effect = sdk.EffectDone
	}
	return none{}, e
}

func lookAround(context.Context, *sdk.Call, none) (look, error) {
	out := look{Args: os.Args[1:], PID: os.Getpid(), Env: []string{}}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		out.Env = append(out.Env, name)
	}
	slices.Sort(out.Env)
	var err error
	out.Dir, err = os.Getwd()
	return out, err
}
