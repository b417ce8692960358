// Package calls holds the bridge calls of one run from the request to the delivery of the answer:
// which wait for a slot, which are in flight, which answers wait for the guest, and what they cost.
package calls
