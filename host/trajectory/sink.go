package trajectory

// Sink takes the events of a host.
//
// Record is called from many goroutines and, for the events of one call, in their
// order. It is called where the run waits for it, so that it must be quick, and it
// must not call the host. An error is logged and counted and changes nothing for
// the run: a full disk must not stop tools. The Event's bodies must not be changed.
type Sink interface {
	Record(Event) error
}
