package launchtest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

var ends = cases{
	"TheExitStatus": func(t *testing.T, h Host) {
		for _, code := range []int{0, 1, 7, 127, 255} {
			h.script(t, "exit "+strconv.Itoa(code)).writes("", code)
		}
	},
	"ASignal": func(t *testing.T, h Host) {
		for _, name := range []string{"KILL", "TERM", "PIPE", "USR1"} {
			p := h.script(t, "kill -"+name+" $$; "+waits)
			p.all()
			p.exits(execution.Exit{Code: -1, Signal: "SIG" + name})
		}
	},
	"DescendantsEndWithTheFirst": func(t *testing.T, h Host) {
		life := h.newLifeline(t)
		p := h.script(t, life.held(`
			sleep 1000 & setsid sleep 1000 &
			(setsid sh -c '(sleep 1000; :) >&9 & echo orphan') | cat
			echo done; exit 3`))
		p.writes("orphan\ndone\n", 3)
		life.gone()
	},
	"DescendantsThatWriteOnEndWithTheFirst": func(t *testing.T, h Host) {
		life := h.newLifeline(t)
		p := h.script(t, life.held("yes & exit 0"))
		if _, err := io.Copy(io.Discard, p); err != nil {
			t.Fatal(err)
		}
		p.exits(execution.Exit{})
		life.gone()
	},
	"TheOutputEndsWithTheProcess": func(t *testing.T, h Host) {
		p := h.script(t, "exec >&- 2>&-; read -r a; exit 6")
		read := make(chan string, 1)
		go func() { read <- p.all() }()
		p.typed("x\n") // works: the process is there though it cannot write
		if got := <-read; got != "" {
			t.Errorf("read %q", got)
		}
		p.exits(execution.Exit{Code: 6})
	},
	"WaitTwice": func(t *testing.T, h Host) {
		p := h.script(t, "echo x; exit 2")
		p.writes("x\n", 2)
		p.exits(execution.Exit{Code: 2})
	},
	"WhatComesAfterTheEnd": func(t *testing.T, h Host) {
		p := h.script(t, "exit 0")
		p.writes("", 0)
		if _, err := p.Write([]byte("x")); err == nil {
			t.Error("write: no error")
		}
		if n, err := p.Read(make([]byte, 8)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read %d bytes, %v", n, err)
		}
		p.Interrupt()
		p.Kill()
		p.exits(execution.Exit{})
	},
}

var killed = execution.Exit{Code: -1, Signal: "SIGKILL"}

// trees are scripts that write "ready" and do not end by themselves.
var trees = map[string]string{
	"AChild":                "sleep 1000 & echo ready; wait",
	"OneThatIgnoresSignals": "trap '' TERM INT HUP QUIT; echo ready; " + waits,
	"OneInItsOwnSession":    "setsid sh -c 'echo ready; sleep 1000' & " + waits,
	"AnOrphan":              "(setsid sh -c '(sleep 1000; :) & echo ready' &); " + waits,
	"OneThatIsStopped":      "sh -c 'kill -STOP $$' & echo ready; kill -STOP $$",
	"AWideTree": `i=0; while [ $i -lt 20 ]; do (sleep 1000 & setsid sleep 1000 & wait) & i=$((i+1)); done
		echo ready; wait`,
	"ADeepTree": `deep() { if [ $1 -gt 0 ]; then deep $(($1 - 1)) & wait; else echo ready; sleep 1000; fi; }; deep 40; :`,
	"OneThatGrows": `grow() { if [ $1 -gt 0 ]; then grow $(($1 - 1)) & grow $(($1 - 1)) & fi; sleep 1000; }
		echo ready; grow 6 2>/dev/null`,
	// Each process starts another and ends: a list of processes is too old when it is read.
	"OneThatForksAndEnds":    "hop() { if [ ! -e \"$STOP\" ]; then hop & fi; }\nhop; echo ready; " + waits,
	"OneThatForksInSessions": "printf '%s\\n' 'if [ ! -e \"$STOP\" ]; then setsid sh \"$HOP\" & fi' >\"$HOP\"; sh \"$HOP\"; echo ready; " + waits,
}

var kills = func() cases {
	c := cases{
		"Twice": func(t *testing.T, h Host) {
			p := h.script(t, "echo ready; "+waits)
			p.until("ready\n")
			p.Kill()
			p.Kill()
			p.exits(killed)
		},
		"FromManyGoroutines": func(t *testing.T, h Host) {
			p := h.script(t, "echo ready; "+waits)
			p.until("ready\n")
			var all sync.WaitGroup
			for range 8 {
				all.Go(p.Kill)
			}
			all.Wait()
			p.exits(killed)
		},
		"OneWhoseOutputIsNotRead": func(t *testing.T, h Host) {
			life := h.newLifeline(t)
			p := h.script(t, life.held("echo ready; yes"))
			if _, err := io.ReadFull(p, make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			p.Kill()
			life.gone()
			p.exits(killed)
		},
		"EndsAReadAndAWrite": func(t *testing.T, h Host) {
			p := h.script(t, "echo ready; sleep 1000")
			p.until("ready\n")
			wrote := make(chan error, 1)
			go func() {
				_, err := p.Write(make([]byte, 8<<20)) // more than a stream holds
				wrote <- err
			}()
			read := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, p)
				read <- err
			}()
			p.Kill()
			if err := <-wrote; err == nil {
				t.Error("write: no error")
			}
			if err := <-read; err != nil {
				t.Errorf("read: %v", err)
			}
			p.exits(killed)
		},
	}
	for name, script := range trees {
		c[name] = func(t *testing.T, h Host) {
			life := h.newLifeline(t)
			dir := filepath.Dir(life.path)
			stop := filepath.Join(dir, "stop")
			t.Cleanup(func() { stopAll(t, stop) })
			command := h.command(life.held(script))
			command.Env = append([]string{"STOP=" + stop, "HOP=" + filepath.Join(h.Dir, "hop.sh")}, environment...)
			p := h.start(t, command)
			p.until("ready\n")
			life.there()
			p.Kill()
			life.gone()
			p.exits(killed)
			remove(t, filepath.Join(h.Dir, "hop.sh"))
		}
	}
	return c
}()

// stopAll ends what a Launcher that fails has left: it looks for this file.
func stopAll(t *testing.T, stop string) {
	if t.Failed() {
		if err := os.WriteFile(stop, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
}

var interrupts = cases{
	"ReachesTheProcessAndItsDescendants": func(t *testing.T, h Host) {
		p := h.script(t, `trap 'wait; echo parent; exit 5' TERM
			setsid sh -c 'trap "echo child; exit 0" TERM; echo ready; `+waits+`' &
			`+waits)
		p.until("ready\n")
		p.Interrupt()
		p.contains("child\n")
		p.contains("parent\n") // and maybe what the shells say of their own children
		p.all()
		p.exits(execution.Exit{Code: 5})
	},
	"CanBeIgnored": func(t *testing.T, h Host) {
		life := h.newLifeline(t)
		p := h.script(t, life.held("trap 'echo no' TERM; echo ready; "+waits))
		p.until("ready\n")
		p.Interrupt()
		p.until("no\n")
		life.there()
		p.Kill()
		life.gone()
		p.exits(killed)
	},
	"EndsOneWithoutATrap": func(t *testing.T, h Host) {
		p := h.script(t, "echo ready; exec sleep 1000")
		p.until("ready\n")
		p.Interrupt()
		p.all()
		p.exits(execution.Exit{Code: -1, Signal: "SIGTERM"})
	},
}
