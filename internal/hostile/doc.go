// Package hostile is a corpus of programs that try to hurt the host that runs
// them: by never ending, by wanting everything, by lying at every boundary they
// can reach. Its tests run each of them in the real, sealed worker; tests
// elsewhere mix them with good programs.
//
// A Program says how it may end. Whatever it does, it ends in one of those ways,
// the worker does not die by itself or for a forbidden system call, and the host
// runs the next program as if nothing had happened.
//
// The programs are in testdata, one file for each class. A line "//// name" starts
// one; a line "//=> ending | ending" ends it, an ending being a code of the result
// contract, "waiting", "completed", or "completed" with the value. In between,
// "//memory N MiB" sets the limit of its heap, "//typescript" its language, and
// "//expand" makes it a text/template with a function repeat.
package hostile
