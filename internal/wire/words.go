package wire

// The codes a failure can carry: the words of the result contract.
const (
	CodeInvalidInput       = "invalid_input"
	CodeRuntimeUnavailable = "runtime_unavailable"
	CodeTimeout            = "timeout"
	CodeOutputLimit        = "output_limit_exceeded"
	CodeSnapshotLimit      = "snapshot_limit_exceeded"
	CodeMemoryLimit        = "memory_limit_exceeded"
	CodeAborted            = "aborted"
	CodeInternal           = "internal_error"
)

// The reasons a worker or its parent can give. Other reasons of the contract
// belong to the host and never cross the wire.
const (
	ReasonUnsupportedLanguage = "unsupported_language"
	ReasonTypeScriptFailed    = "typescript_transform_failed"
	ReasonModuleAccess        = "module_access_denied"
	ReasonSyntaxError         = "syntax_error"
	ReasonShellCommand        = "shell_command"
	ReasonSnapshotRestore     = "snapshot_restore_failed"
	ReasonGuestException      = "guest_exception"
	ReasonNestedTool          = "nested_tool_failed"
	ReasonSandboxViolation    = "sandbox_violation"
	ReasonWorkerCrashed       = "worker_crashed"
	ReasonReplayDiverged      = "replay_diverged"
)

// TextTimeout is what is said of a program that ran out of time, by whichever side
// stopped it.
const TextTimeout = "code mode timeout exceeded."

// The phases say who is at fault for a failure.
const (
	PhaseInput  = "input"
	PhaseGuest  = "guest"
	PhaseBridge = "bridge"
	PhaseHost   = "host"
)

// The exit codes of a worker process. A worker that ends for another reason has
// crashed.
const (
	ExitDone     = 0  // the host closed the connection
	ExitUsage    = 64 // started by hand, without a host
	ExitProtocol = 65 // the host said something the worker does not understand
	ExitPanic    = 70 // a bug in the worker
	ExitSeal     = 71 // a required sandbox layer could not be applied
	ExitMemory   = 77 // the process ran out of memory outside the guest heap
)

func knownCode(s string) bool {
	switch s {
	case CodeInvalidInput, CodeRuntimeUnavailable, CodeTimeout, CodeOutputLimit,
		CodeSnapshotLimit, CodeMemoryLimit, CodeAborted, CodeInternal:
		return true
	}
	return false
}

func knownReason(s string) bool {
	switch s {
	case "", ReasonUnsupportedLanguage, ReasonTypeScriptFailed, ReasonModuleAccess, ReasonSyntaxError,
		ReasonShellCommand, ReasonSnapshotRestore, ReasonGuestException, ReasonNestedTool, ReasonSandboxViolation,
		ReasonWorkerCrashed, ReasonReplayDiverged:
		return true
	}
	return false
}

func knownPhase(s string) bool {
	switch s {
	case PhaseInput, PhaseGuest, PhaseBridge, PhaseHost:
		return true
	}
	return false
}

func knownMethod(m Method) bool {
	switch m {
	case MethodCall, MethodSearch, MethodDescribe, MethodNamespace, MethodYield, MethodMCP, MethodCancel, MethodProgram, MethodSave:
		return true
	}
	return false
}
