//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// childEnv makes the test binary do one step of a guest's life and exit.
const childEnv = "QUOIN_QUICKJS_TEST_CHILD"

// step is what a child process is asked to do: start Source, or continue Image
// with In.
type step struct {
	Real   bool // with the real prelude
	Source string
	Image  []byte
	In     []wire.Settlement
}

// stepResult is what the child answers.
type stepResult struct {
	Report   wire.Report
	Image    []byte // when the guest waits
	Template [32]byte
	View     []byte // the template itself, when nothing else was asked for
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	if err := childStep(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childStep() error {
	var s step
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return err
	}
	cfg := Config{BuildID: testBuild, Prelude: testPrelude}
	if s.Real {
		cfg.Prelude = ""
	}
	e, err := Open(cfg)
	if err != nil {
		return err
	}
	res := stepResult{Template: e.TemplateSum()}
	if err := s.run(e, &res); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(res)
}

func (s step) run(e *Engine, res *stepResult) (err error) {
	var vm engine.VM
	if s.Image == nil {
		if s.Source == "" {
			res.View = e.view
			return nil
		}
		if vm, err = e.New(engine.Options{}); err != nil {
			return err
		}
		res.Report, err = vm.Load(cell(s.Source), soon())
	} else {
		if vm, err = e.Restore(s.Image, engine.Options{}); err != nil {
			return err
		}
		res.Report, err = vm.Turn(s.In, soon())
	}
	if err == nil && res.Report.Status == wire.StatusIdle {
		res.Image, err = vm.Snapshot(wire.MaxImage)
	}
	return err
}

// inChild runs one step in a fresh process.
func inChild(t testing.TB, s step) stepResult {
	t.Helper()
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childEnv + "=1", "GOMAXPROCS=1", "TZ=UTC"}
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, stderr.Bytes())
	}
	var res stepResult
	if err := json.Unmarshal(out, &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// answer settles every request with its own arguments.
func answer(reqs []wire.Request) (in []wire.Settlement) {
	for _, q := range reqs {
		v := q.Args
		if v == nil {
			v = []byte("null")
		}
		in = append(in, wire.Settlement{ID: q.ID, OK: true, JSON: v})
	}
	return in
}

// acrossProcesses runs a program to its end, every turn in a process of its
// own, and returns the last report and the number of images.
func acrossProcesses(t testing.TB, s step) (wire.Report, int) {
	t.Helper()
	hops := 0
	res := inChild(t, s)
	for res.Report.Status == wire.StatusIdle {
		hops++
		res = inChild(t, step{Real: s.Real, Image: res.Image, In: answer(res.Report.Requests)})
	}
	return res.Report, hops
}
