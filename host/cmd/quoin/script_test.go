package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/typescript"
	"github.com/quoinhq/quoin/internal/typescript/tsgo"
)

func TestMain(m *testing.M) {
	beAnother()
	testscript.Main(manyAtOnce{m}, map[string]func(){
		"curl":       curl,
		"mcp-client": mcpClient,
		"quoin":      func() { os.Exit(runUntilSignal()) },
	})
}

// manyAtOnce runs tests as hosttest.Main does.
type manyAtOnce struct{ m *testing.M }

// Run runs the tests.
func (m manyAtOnce) Run() int {
	hosttest.ManyAtOnce()
	return m.m.Run()
}

// TestScripts runs the command in processes of its own, as scripts do.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts(t, "script"))
}

// scripts returns the scripts of a folder of testdata.
func scripts(t *testing.T, folder string) testscript.Params {
	builds := t.TempDir() // the guest need not be copied for each state directory
	if err := installGuest(); err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: filepath.Join("testdata", folder),
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    cmdExits,
			"result":   cmdResult,
			"plugins":  cmdPlugins,
			"bundled":  cmdBundled,
			"guest":    cmdGuest,
			"guide":    cmdGuide,
			"engines":  cmdEngines,
			"native":   cmdNative,
			"serve":    cmdServe,
			"issuer":   cmdIssuer,
			"halt":     cmdHalt,
			"gone":     cmdGone,
			"hangup":   cmdHangup,
			"manager":  cmdManager,
			"sql":      cmdSQL,
			"selects":  cmdSelects,
			"pending":  cmdPending,
			"driven":   cmdDriven,
			"appears":  cmdAppears,
			"document": cmdDocument,
			"first":    cmdFirst,
			"inquire":  cmdInquire,
			"tutorial": cmdTutorial,
			"develop":  cmdDevelop,
			"awaits":   cmdAwaits,
			"ends":     cmdEnds,
			"offers":   cmdOffers,
			"byhand":   cmdByHand,
			"compiler": cmdCompiler,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sandbox":
				return hasSandbox(), nil
			case "mount":
				return canMount(), nil
			case "default": // the tests run on the default engine
				guest, err := hosttest.Guest()
				if err != nil {
					return false, err
				}
				ofDefault, err := hosttest.DefaultGuest()
				return guest == ofDefault, err
			case "native": // what builds it takes half a minute
				return hosttest.HasCompiler() && !testing.Short(), nil
			case "typescript":
			default:
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			_, err := typescript.Find()
			if errors.Is(err, typescript.ErrNotBuilt) {
				return false, nil
			}
			return true, err
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "XDG_STATE_HOME="+filepath.Join(e.WorkDir, ".state"), "XDG_CONFIG_HOME="+filepath.Join(e.WorkDir, ".config"), "XDG_DATA_HOME="+filepath.Join(e.WorkDir, ".data"))
			docs, err := filepath.Abs("../../../docs")
			if err != nil {
				return err
			}
			e.Vars = append(e.Vars, "DOCS="+docs, "QUOIN_GUEST_BUILDS="+builds)
			caches, err := goCaches()
			if err != nil {
				return err
			}
			e.Vars = append(e.Vars, caches...)
			e.Values[servedKey{}] = map[string]*served{}
			e.Values[guideKey{}] = new(guide)
			e.Values[sessionKey{}] = new(*session)
			return nil
		},
	}
}

// installGuest puts the guest worker next to the command, where releases have it. The tests
// could be their own guest, which is many times as large, and is read whole by each command.
var installGuest = sync.OnceValue(func() error {
	guest, err := hosttest.Guest()
	if err != nil {
		return err
	}
	command, err := osexec.LookPath("quoin")
	if err != nil {
		return err
	}
	return os.Symlink(guest, filepath.Join(filepath.Dir(command), filepath.Base(guest)))
})

// hasSandbox reports whether the system lets this user have the sandbox of the shell.
var hasSandbox = sync.OnceValue(func() bool {
	s, err := settings.Parse(nil)
	if err != nil {
		return false
	}
	l, err := machine.Sandbox(s, os.TempDir(), nil, nil)
	if err != nil {
		return false
	}
	_, err = l.Report(context.Background())
	return errors.Join(err, l.Close()) == nil
})

// canMount reports whether the system lets this user have mounts of its own.
var canMount = sync.OnceValue(func() bool {
	args := []string{"--mount", "mount", "-t", "tmpfs", "none", os.TempDir()}
	if os.Geteuid() != 0 {
		args = append([]string{"--map-root-user"}, args...)
	}
	return osexec.Command("unshare", args...).Run() == nil
})

// goCaches are the variables with which the go command of a script, which has another home,
// finds what has been built and fetched before. It fetches nothing, and links plugins without
// what only a debugger reads, which takes half as long.
var goCaches = sync.OnceValues(func() ([]string, error) {
	vars := []string{"GOPROXY=off", "GOFLAGS=-ldflags=-w"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := osexec.Command("go", "env", name).Output()
		if err != nil {
			return nil, err
		}
		vars = append(vars, name+"="+strings.TrimSpace(string(out)))
	}
	return vars, nil
})

// cmdExits runs a program and requires its exit code: exits CODE PROGRAM ARG...
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *osexec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdResult compares a field of the JSON result that was just printed with a
// JSON value, or keeps it: result FIELD VALUE; result FIELD > VARIABLE.
func cmdResult(ts *testscript.TestScript, neg bool, args []string) {
	var doc map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	switch {
	case len(args) == 3 && args[1] == ">":
		var s string
		ts.Check(json.Unmarshal(doc[args[0]], &s))
		ts.Setenv(args[2], s)
	case len(args) == 2:
		if same := string(doc[args[0]]) == args[1]; same == neg {
			ts.Fatalf("%s is %s; wanted %s (negated: %v)", args[0], doc[args[0]], args[1], neg)
		}
	default:
		ts.Fatalf("usage: result FIELD VALUE | result FIELD > VARIABLE")
	}
}

// cmdFirst keeps a field of the first element of the JSON list that was just
// printed: first FIELD > VARIABLE.
func cmdFirst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || args[1] != ">" {
		ts.Fatalf("usage: first FIELD > VARIABLE")
	}
	var list []map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	if len(list) == 0 {
		ts.Fatalf("the list is empty")
	}
	s, ok := list[0][args[0]].(string)
	if !ok {
		ts.Fatalf("%s is %v, wanted a text", args[0], list[0][args[0]])
	}
	ts.Setenv(args[2], s)
}

// cmdGuest puts the guest worker that ships into a file: guest FILE
func cmdGuest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: guest FILE")
	}
	built, err := hosttest.Guest()
	ts.Check(err)
	ts.Check(os.Symlink(built, ts.MkAbs(args[0])))
}

// cmdEngines puts a guest worker of the default engine and one that says to run the native
// engine into files: engines DEFAULT NATIVE
func cmdEngines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: engines DEFAULT NATIVE")
	}
	built, err := hosttest.DefaultGuest()
	ts.Check(err)
	ts.Check(os.Symlink(built, ts.MkAbs(args[0])))
	ts.Check(hosttest.RenamedGuest(ts.MkAbs(args[1])))
}

// cmdNative puts guest workers of both engines into a directory: native DIR
func cmdNative(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: native DIR")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	byDefault, err := hosttest.DefaultGuest()
	ts.Check(err)
	native, err := hosttest.NativeGuest()
	ts.Check(err)
	ts.Check(os.Symlink(byDefault, filepath.Join(dir, "quoin-guest")))
	ts.Check(os.Symlink(native, filepath.Join(dir, "quoin-guest-native")))
}

// cmdPlugins builds example plugins into a directory: plugins DIR NAME...
func cmdPlugins(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: plugins DIR NAME...")
	}
	for _, name := range args[1:] {
		ts.Check(hosttest.Install(ts.MkAbs(args[0]), name))
	}
}

// cmdBundled puts bundled plugins next to the command of all scripts, where it looks for
// them: bundled NAME...
func cmdBundled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: bundled NAME...")
	}
	for _, name := range args {
		ts.Check(hosttest.InstallBundled(filepath.Join(filepath.Dir(quoin(ts)), "bundled"), name))
	}
}

// cmdCompiler names the TypeScript compiler of the tests in the environment: compiler
func cmdCompiler(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: compiler")
	}
	path, err := typescript.Find()
	ts.Check(err)
	ts.Setenv(tsgo.Setting, path)
}
