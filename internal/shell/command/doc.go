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
// # Lifecycle
//
// [NewJudge] reads the allow-list. An entry that could allow any code is an error, and so
// is a rule that its own examples contradict. [Judge.Judge] reads a line in five steps:
// its characters, its syntax, its words, the programs that only run another one, and the
// arguments of what is left. [Judge.Argv] is the shell that runs a line.
//
// A line is built along with the judgement: executables as absolute paths, every word in
// quotes. It is what runs when the allow-list has the command, so that no shell reads it
// in another way than the judge has. A program with arguments that can run others, or
// write, has a profile: the options that only read. An option without an entry is
// refused, also a short form of one that has.
//
// # Concurrency
//
// A Judge may be used from any goroutine. It keeps the digests of files, and computes one
// again when the file has changed.
//
// # Failure
//
// There are no errors but errors of the configuration. What cannot be read, or exceeds
// a limit, is a judgement that says why: not allowed, not remembered, or refused.
//
// # Trust
//
// Command lines are hostile. What cannot be read, is too long or is anything but plain
// words is not allowed, and is not remembered. The judge is not the boundary: that is
// the sandbox. It is what lets a command run without a person having seen it.
package command
