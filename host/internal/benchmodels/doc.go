// Package benchmodels measures what Quoin means for a model: tokens and turns of
// whole tasks, the cost of a prompt, how well a search finds, and whether an error
// leads to the program that works.
//
// Run it with make bench-models, which writes docs/models.md and its picture. It needs
// no network and no model: tasks come with the calls that solve them, and those calls
// are replayed. All data is of this package, made from a seed or written in testdata.
// Nothing is timed, so that every run has the same figures, and a test holds the page
// against them. Package bench next door measures time.
package benchmodels
