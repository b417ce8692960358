package launchtest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

var streams = cases{
	"OutputAndErrorAreOneStream": func(t *testing.T, h Host) {
		script := strings.Repeat("echo out; echo err >&2\n", 200)
		h.script(t, script).writes(strings.Repeat("out\nerr\n", 200), 0)
	},
	"InputReachesTheProcess": func(t *testing.T, h Host) {
		p := h.script(t, "read -r a; echo \"[$a]\"; cat; echo end")
		p.typed("one\n")
		p.until("[one]\n")
		p.typed("two\n")
		p.until("two\n")
		p.closeInput()
		p.writes("[one]\ntwo\nend\n", 0)
	},
	"BytesStayAsTheyAre": func(t *testing.T, h Host) {
		p := h.script(t, "cat")
		sent := make([]byte, 1<<20)
		random := rand.NewChaCha8([32]byte{1})
		if _, err := io.ReadFull(random, sent); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := p.Write(sent)
			if err == nil {
				err = p.CloseInput()
			}
			failed <- err
		}()
		got := p.all()
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal([]byte(got), sent) {
			t.Errorf("%d bytes came back, and not as the %d that were sent", len(got), len(sent))
		}
		p.exits(execution.Exit{})
	},
	"AnInputThatHasEndedIsLeftSo": func(t *testing.T, h Host) {
		p := h.script(t, "exit 0")
		p.writes("", 0)
		p.closeInput()
	},
	"EveryByteCanBeWritten": func(t *testing.T, h Host) {
		var script, want strings.Builder
		for b := range 256 {
			fmt.Fprintf(&script, "printf '\\%03o'\n", b)
			want.WriteByte(byte(b))
		}
		h.script(t, script.String()).writes(want.String(), 0)
	},
	"ArgumentsStayAsTheyAre": func(t *testing.T, h Host) {
		c := h.command(`printf '[%s]' "$@"`)
		c.Argv = append(c.Argv, "sh", "", "a b", "-n", "$HOME", "*", "line\n", "\xff\xc3é", "'\"\\")
		h.start(t, c).writes("[][a b][-n][$HOME][*][line\n][\xff\xc3é]['\"\\]", 0)
	},
	"TheEnvironmentIsTheCommands": func(t *testing.T, h Host) {
		t.Setenv("QUOIN_LAUNCHTEST", "of the caller")
		c := h.command(`printf '[%s]' "${QUOIN_LAUNCHTEST-unset}" "$A" "$B"`)
		c.Env = []string{"A=b c\n\xff=", "B="}
		h.start(t, c).writes("[unset][b c\n\xff=][]", 0)
		c.Env = nil
		h.start(t, c).writes("[unset][][]", 0)
	},
	"TheDirectoryIsTheCommands": func(t *testing.T, h Host) {
		dir, err := filepath.EvalSymlinks(h.Dir)
		if err != nil {
			t.Fatal(err)
		}
		h.script(t, "pwd -P").writes(dir+"\n", 0)
	},
	"NoDescriptorIsInherited": func(t *testing.T, h Host) {
		leaked, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(leaked)
		c := h.command("")
		c.Argv = []string{"/bin/ls", "/proc/self/fd"} // the last is the directory itself
		h.start(t, c).writes("0\n1\n2\n3\n", 0)
	},
	"NoSignalIsIgnoredOrBlocked": func(t *testing.T, h Host) {
		c := h.command("")
		// Signals 1 to 28: the C library keeps 32 and 33 to itself, and they stay as the caller's.
		c.Argv = []string{"/bin/sed", "-nE", "s/^(Sig(Blk|Ign)):\t[0-9a-f]{8}[0-9a-f]([0-9a-f]*)$/\\1 \\3/p", "/proc/self/status"}
		h.start(t, c).writes("SigBlk 0000000\nSigIgn 0000000\n", 0)
	},
	"ProcessesDoNotMixTheirStreams": func(t *testing.T, h Host) {
		var all []*running
		for range 8 {
			all = append(all, h.script(t, "read -r a; echo \"$a\"; cat; exit $a")) // it ends after the write to it
		}
		for i, p := range all {
			p.typed(fmt.Sprintln(i))
		}
		for _, p := range all {
			p.closeInput()
		}
		for i, p := range all {
			p.writes(fmt.Sprintln(i), i)
		}
	},
}

var starts = cases{
	"AProgramThatIsNotThere": func(t *testing.T, h Host) {
		c := h.command("")
		c.Argv = []string{"/nowhere/at/all"}
		h.fails(t, c, "/nowhere/at/all")
	},
	"ADirectoryThatIsNotThere": func(t *testing.T, h Host) {
		c := h.command("echo no")
		c.Dir = filepath.Join(h.Dir, "nowhere")
		h.fails(t, c, c.Dir)
	},
	"NoProgram": func(t *testing.T, h Host) {
		h.fails(t, execution.Command{Dir: h.Dir}, "")
	},
	"AnEndedContext": func(t *testing.T, h Host) {
		ctx, cancel := withCancel(t)
		cancel()
		if p, err := h.Launcher.Start(ctx, h.command("echo no")); err == nil {
			p.Kill()
			t.Error("it has started")
		}
	},
	"TheContextBoundsTheStartAlone": func(t *testing.T, h Host) {
		ctx, cancel := withCancel(t)
		p, err := h.Launcher.Start(ctx, h.command("read -r a; exit 4"))
		if err != nil {
			t.Fatal(err)
		}
		r := &running{Process: p, t: t}
		cancel()
		r.typed("x\n")
		r.writes("", 4)
	},
	"TheNumberOfTheProcess": func(t *testing.T, h Host) {
		p := h.script(t, "exit 0")
		if p.PID() <= 0 {
			t.Errorf("the number is %d", p.PID())
		}
		p.writes("", 0)
	},
}

// fails fails unless the start fails, with a message that names what is wrong.
func (h Host) fails(t *testing.T, c execution.Command, names string) {
	t.Helper()
	p, err := h.Launcher.Start(t.Context(), c)
	if err == nil {
		p.Kill()
		t.Fatal("it has started")
	}
	if !strings.Contains(err.Error(), names) {
		t.Errorf("the error %q does not name %q", err, names)
	}
}
