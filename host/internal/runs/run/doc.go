// Package run is what one run is (its session, its state, its calls, its record) and what all
// runs of a host share. It calls no tool and drives no guest.
package run
