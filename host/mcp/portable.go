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

// Portable returns what is carried when a state is moved. It is for commands of this
// module.
func (p *Pins) Portable() []documents.Portable {
	return []documents.Portable{{Store: p.docs, Kind: "pins", Ext: pinsExt, Stays: true}}
}

// Portable returns what is carried when a state is moved: tokens, registrations and
// sign-ins that a browser is in the middle of. It is for commands of this module.
func (s *SignIns) Portable() []documents.Portable { return s.client.Portable() }
