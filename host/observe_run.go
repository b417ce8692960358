package host

// The model's own tools.
const (
	toolExec = "exec"
	toolWait = "wait"
)
