// Package text holds the few operations on plain text that all floors share:
// cutting at a character boundary, replacing what does not print, and finding the
// name that a misspelt one was meant to be.
//
// Texts and names may come from strangers. Every function accepts any string,
// valid UTF-8 or not, and bounds its work by its arguments. The functions keep no
// state and are safe for concurrent use.
package text
