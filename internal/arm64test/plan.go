package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// job is one test binary, or another program, that the machine runs. It is a line of
// the machine's plan.
type job struct {
	Name    string   // what the results call it
	Package string   // below the module, with the program or its tests
	Program bool     // Package is a program, not a package with tests
	Args    []string // what it is given
	Chosen  []string // what it is given in addition when a chosen set is asked for
	Builds  []string // programs that its tests build, which the machine has ready
	Native  bool     // it has the native engine
	Says    string   // a line of what it says starts so
	User    bool     // it runs as an ordinary user, not as root
	// Addresses is how many bits the addresses of a process have in which the job
	// runs alone, without the machine; 0 is a job of the machine.
	Addresses int
	Long      bool // it is left out of the chosen set
}

// binary is where the machine has a job's program. The programs of Quoin have the
// names by which they find each other.
func (j job) binary() string {
	name := path.Base(j.Package)
	if !j.Program {
		name = strings.ReplaceAll(j.Package, "/", "-") + ".test"
	}
	if j.Native {
		name += "-native"
	}
	return "/programs/" + name
}

// noToolchain are the tests that compile programs of their own.
const noToolchain = "GoRun|ParentNeverLinks"

// children are the tests that start processes, which an emulated process cannot.
const children = "EverythingSurvivesItsProcess|HundredProcesses|TemplateIsReproducible"

const (
	workerProgram = "guestrt/cmd/quoin-guest"
	hostProgram   = "host/cmd/quoin"

	engineTests  = "guestrt/internal/engine/quickjs"
	poolTests    = "guestrt"
	sealTests    = "internal/sandbox"
	hostileTests = "internal/hostile"
)

// plan is everything that the machine can run, in order.
var plan = []job{
	{Name: "seal as root", Package: sealTests},
	{Name: "seal as a user", Package: sealTests, User: true},
	{Name: "engine with addresses of 39 bits", Package: engineTests, Addresses: 39, Args: []string{"-test.skip=" + children}},
	{Name: "engine", Package: engineTests, User: true},
	{Name: "hostile corpus", Package: hostileTests, User: true, Builds: []string{workerProgram}, Args: []string{"-test.run=TestCorpus"}, Chosen: []string{"-every=20"}},
	{Name: "workers", Package: poolTests, User: true, Long: true, Builds: []string{workerProgram}, Args: []string{"-test.skip=" + noToolchain}},
	{Name: "workers as root", Package: poolTests, Long: true, Builds: []string{workerProgram}, Args: []string{"-test.skip=" + noToolchain}},
	{Name: "doctor", Package: hostProgram, Program: true, User: true, Builds: []string{workerProgram}, Args: []string{"doctor"}, Says: "tier A:"},

	{Name: "native: seal", Package: sealTests, Native: true, User: true},
	{Name: "native: seal as root", Package: sealTests, Native: true, Long: true},
	{Name: "native: engine with addresses of 39 bits", Package: engineTests, Native: true, Addresses: 39, Args: []string{"-test.skip=" + children}},
	{Name: "native: engine", Package: engineTests, Native: true, User: true},
	{Name: "native: hostile corpus", Package: hostileTests, Native: true, User: true, Builds: []string{workerProgram},
		Args: []string{"-test.run=TestCorpus"}, Chosen: []string{"-every=20"}},
	{Name: "native: workers", Package: poolTests, Native: true, User: true, Long: true, Builds: []string{workerProgram},
		Args: []string{"-test.skip=" + noToolchain}},
}

// choose returns the jobs that the flags ask for.
func choose(o options) ([]job, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	var jobs []job
	for _, j := range plan {
		if !only.MatchString(j.Name) || j.Native != o.native || o.short && j.Long || o.run != "" && j.Program {
			continue
		}
		if o.short {
			j.Args = slices.Concat(j.Args, j.Chosen)
		}
		if !j.Program {
			args := append([]string{"-test.v", "-test.timeout=60m"}, j.Args...)
			if o.short {
				args = append(args, "-test.short")
			}
			if o.run != "" {
				args = append(args, "-test.run="+o.run)
			}
			j.Args = args
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no job's name matches %q", o.only)
	}
	return jobs, nil
}
