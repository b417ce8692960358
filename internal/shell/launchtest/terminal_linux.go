package launchtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// onTerminal starts a command on a terminal of 80 by 24.
func (h Host) onTerminal(t *testing.T, argv ...string) *running {
	t.Helper()
	return h.start(t, execution.Command{
		Argv: argv, Dir: h.Dir, Env: environment, Terminal: &execution.Size{Columns: 80, Rows: 24},
	})
}

// scriptOnTerminal starts a script of the shell on a terminal.
func (h Host) scriptOnTerminal(t *testing.T, script string) *running {
	t.Helper()
	return h.onTerminal(t, "/bin/sh", "-c", script)
}

// find returns the path of a program.
func find(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("this machine has no %s", name)
	}
	return path
}

var terminals = cases{
	"AllStreamsAreTheTerminal": func(t *testing.T, h Host) {
		p := h.scriptOnTerminal(t, "test -t 0 && test -t 1 && test -t 2 && : </dev/tty && stty size")
		p.writes("24 80\r\n", 0)
	},
	"PipesAreNoTerminal": func(t *testing.T, h Host) {
		p := h.script(t, "test -t 0 || test -t 1 || test -t 2 || { : </dev/tty; } 2>/dev/null")
		if got := p.all(); got != "" {
			t.Errorf("wrote %q", got)
		}
		if exit, err := p.Wait(); err != nil || exit.Code == 0 {
			t.Errorf("%+v, %v", exit, err)
		}
		if err := p.Resize(execution.Size{Columns: 1, Rows: 1}); err == nil {
			t.Error("resize: no error")
		}
	},
	"TheLastOutputIsRead": func(t *testing.T, h Host) {
		for range 5 {
			h.scriptOnTerminal(t, "head -c 20000 /dev/zero | tr '\\0' x; echo end; exit 1").
				writes(strings.Repeat("x", 20000)+"end\r\n", 1)
		}
	},
	"Resize": func(t *testing.T, h Host) {
		p := h.scriptOnTerminal(t, "trap 'stty size' WINCH; echo ready; "+waits)
		p.until("ready\r\n")
		if err := p.Resize(execution.Size{Columns: 132, Rows: 43}); err != nil {
			t.Fatal(err)
		}
		p.until("43 132\r\n")
	},
	"CtrlC": func(t *testing.T, h Host) {
		p := h.onTerminal(t, "/bin/cat")
		p.typed("x\r")
		p.until("x\r\nx\r\n")
		p.typed("\x03")
		p.all()
		p.exits(execution.Exit{Code: -1, Signal: "SIGINT"})
	},
	"TheEndOfTheInput": func(t *testing.T, h Host) {
		p := h.scriptOnTerminal(t, "stty -echo; echo ready; cat; echo end")
		p.until("ready\r\n")
		p.typed("one\r")
		p.until("one\r\n")
		p.closeInput()
		p.writes("ready\r\none\r\nend\r\n", 0)
	},
	"APasswordIsNotShown": func(t *testing.T, h Host) {
		p := h.scriptOnTerminal(t, `stty -echo; printf 'Password: '; read -r a; stty echo; echo; echo "[$a]"`)
		p.until("Password: ")
		p.typed("s3cret\r")
		p.writes("Password: \r\n[s3cret]\r\n", 0)
	},
	"DescendantsEndWithTheFirst": func(t *testing.T, h Host) {
		life := h.newLifeline(t)
		p := h.scriptOnTerminal(t, life.held("trap '' HUP; sleep 1000 & setsid sleep 1000 & echo done; exit 3"))
		p.writes("done\r\n", 3)
		life.gone()
	},
	"Kill": func(t *testing.T, h Host) {
		life := h.newLifeline(t)
		p := h.scriptOnTerminal(t, life.held("trap '' HUP TERM; yes & setsid yes & "+waits))
		p.contains("y\r\n")
		p.Kill()
		life.gone()
		p.exits(killed)
	},
	"Vi": func(t *testing.T, h Host) {
		path := filepath.Join(h.Dir, "edited.txt")
		remove(t, path)
		p := h.onTerminal(t, find(t, "vi"), path)
		p.contains("edited.txt")
		p.typed("ihello from vi\x1b:wq\r")
		p.all()
		p.exits(execution.Exit{})
		if got, err := os.ReadFile(path); err != nil || string(got) != "hello from vi\n" {
			t.Errorf("the file has %q, %v", got, err)
		}
		remove(t, path)
	},
	"Top": func(t *testing.T, h Host) {
		p := h.onTerminal(t, find(t, "top"))
		p.contains("PID")
		p.typed("q")
		p.all()
		p.exits(execution.Exit{})
	},
}
