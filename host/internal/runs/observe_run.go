package runs

// The model's own tools.
const (
	toolExec = "exec"
	ToolWait = "wait"
)
