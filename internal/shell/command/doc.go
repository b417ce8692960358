// Package command judges shell commands: what a command would run, and whether the
// allow-list has all of it.
//
// # Nouns
//
// A [Judge] has an allow-list. It reads a command line as a shell would and says what
// it found as a [Judgement]: the effective commands, which are those that are left when
// env, nice, timeout and other programs that only run another one are taken away, each
// with the very file that would run.
//
// # Trust
//
// Command lines are hostile. What cannot be read, is too long or is anything but plain
// words is not allowed, and is not remembered. The judge is not the boundary: that is
// the sandbox. It is what lets a command run without a person having seen it.
package command
