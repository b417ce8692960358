package trajectory

// Sink takes the events of a host.
//
// The host calls Record from many goroutines, and for the events of one call in
// order. The run waits for Record, so it must be quick, and it must not call the host.
// The host logs and counts an error, and the run continues: a full disk must not stop
// tools. Record must not change the Event's bodies.
type Sink interface {
	Record(Event) error
}
