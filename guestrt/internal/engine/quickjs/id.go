package quickjs

// ID returns what names the engine of this build and its version, as Engine.ID does
// without opening one.
func ID() string { return engineID }
