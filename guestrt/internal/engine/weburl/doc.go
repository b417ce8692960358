// Package weburl parses URLs as browsers do, for the guest's URL objects.
//
// It takes and gives plain text, keeps no state, and is safe for concurrent
// use. Its input comes from the guest and is hostile: the length is bounded, and
// a parser that panics counts as a refusal.
package weburl
