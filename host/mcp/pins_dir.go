package mcp

import "github.com/quoinhq/quoin/internal/documents"

// OpenPins returns the pins in a directory, which is made with the first of them: a file
// for each server, that people can read.
func OpenPins(dir string) (*Pins, error) {
	docs, err := documents.OpenDir(dir, documents.DirOptions{MaxBytes: MaxPinBytes, Late: true})
	if err != nil {
		return nil, err
	}
	return NewPins(docs), nil
}
