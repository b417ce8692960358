package command

import (
	"path"
	"slices"
	"strings"
)

// launchers run a program that one of their words names.
var launchers = set(`
	sudo doas runuser pkexec chroot unshare nsenter setpriv capsh setarch chrt taskset numactl prlimit flock watch strace ltrace docker podman nerdctl ctr kubectl oc crictl runc
	lxc machinectl systemd-run systemd-nspawn bwrap firejail proot proxychains torsocks unbuffer rlwrap script fakeroot dbus-run-session xvfb-run faketime screen tmux byobu
	sudo-rs gosu su-exec tini dumb-init chronic ifne systemd-inhibit systemd-cat watchexec hyperfine caffeinate eatmydata distrobox toolbox apptainer singularity limactl lima
`)

// scripted are programs that take commands from the file that their first word names, and then no more from their input.
var scripted = set(`python pypy perl ruby node nodejs php lua luajit tclsh wish expect guile rscript scala groovy racket sbcl clisp raku swipl gnuplot m4 julia ocaml`)

// innermost is the program that a launcher starts if it is one that takes commands, with its words; else the program itself.
func innermost(e *executable, args []word) (*executable, []word) {
	if launchers[e.kind()] {
		for i, a := range args {
			inner := &executable{name: path.Base(a.text)}
			if slices.ContainsFunc(inner.kinds()[:1], takesCommands) || takesCommands(strings.ToLower(inner.name)) {
				return inner, args[i+1:]
			}
		}
	}
	return e, args
}

// readsCommands reports whether a program takes commands from its input, and words of its command line for such: an
// operand of it is a database, a host or a text, and no file of commands.
func (e *executable) readsCommands(args []word) bool {
	program, args := innermost(e, args)
	if program == e && e.profile() != nil || slices.ContainsFunc(args, func(w word) bool { return onlyTells(w.text) }) {
		return false
	}
	for _, kind := range program.kinds() {
		if takesCommands(kind) && !(shells[kind] || scripted[kind]) {
			return true
		}
	}
	if !slices.ContainsFunc(program.kinds(), takesCommands) {
		return false
	}
	if len(args) > 1 && slices.Contains([]string{"-c", "-e", "-r"}, args[0].text) {
		return false
	}
	return len(args) == 0 || !isOperand(args[0].text) || slices.Contains([]string{"inspect", "debug", "repl"}, args[0].text)
}

// unknown reports whether nothing is known of what a program does with its words and its input: it may run them.
func (e *executable) unknown() bool {
	return e.profile() == nil && !e.runsCode() && !slices.ContainsFunc(e.kinds(), func(kind string) bool {
		return doers[kind] || wrappers[kind] != nil || takesCommands(kind) || profiles[kind] != nil
	})
}

func literals(texts []string) []word {
	words := make([]word, len(texts))
	for i, t := range texts {
		words[i] = literal(t)
	}
	return words
}
