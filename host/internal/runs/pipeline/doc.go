// Package pipeline has each bridge call of a run pass its stages: what it means, whether it may
// be made, the tool itself, and the record of what came of it. It also serves the files that a
// program reads, and judges the program itself.
package pipeline
