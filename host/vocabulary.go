package host

import (
	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
)

// The vocabulary of package codemode, under the names that embedders use.
type (
	Session         = codemode.Session
	Settings        = codemode.Settings
	Quotas          = codemode.Quotas
	IsolationPolicy = codemode.IsolationPolicy
	OutputPolicy    = codemode.OutputPolicy
	Activation      = codemode.Activation

	Result          = codemode.Result
	Status          = codemode.Status
	PendingCall     = codemode.PendingCall
	PendingApproval = codemode.PendingApproval
	Output          = codemode.Output
	OutputKind      = codemode.OutputKind
	Telemetry       = codemode.Telemetry
	Isolation       = codemode.Isolation
	Engine          = codemode.Engine

	RunInfo        = codemode.RunInfo
	UpgradeOptions = codemode.UpgradeOptions
	UpgradedRun    = codemode.UpgradedRun
	RunStatus      = codemode.RunStatus
	ToolAnswer     = codemode.ToolAnswer
	QuestionAnswer = codemode.QuestionAnswer

	Error  = codemode.Error
	Code   = codemode.Code
	Reason = codemode.Reason
	Phase  = codemode.Phase
)

// EngineChoice says which engine runs the guests of a host; see guestrt.Engine.
type EngineChoice = guestrt.Engine

// The choices of an engine.
const (
	EngineDefault = guestrt.EngineDefault
	EngineNative  = guestrt.EngineNative
	EngineAuto    = guestrt.EngineAuto
)

// The isolation policies.
const (
	IsolationRequired   = codemode.IsolationRequired
	IsolationStrict     = codemode.IsolationStrict
	IsolationBestEffort = codemode.IsolationBestEffort
)

// The output policies.
const (
	OutputFail     = codemode.OutputFail
	OutputTruncate = codemode.OutputTruncate
)

// The activations.
const (
	ActivationOn   = codemode.ActivationOn
	ActivationOff  = codemode.ActivationOff
	ActivationAuto = codemode.ActivationAuto
)

// The statuses of a Result.
const (
	StatusCompleted = codemode.StatusCompleted
	StatusWaiting   = codemode.StatusWaiting
	StatusFailed    = codemode.StatusFailed
)

// The statuses of a run that has not ended.
const (
	RunRunning = codemode.RunRunning
	RunWaiting = codemode.RunWaiting
)

// The kinds of an Output.
const (
	OutputText = codemode.OutputText
	OutputJSON = codemode.OutputJSON
)

// The codes of a failed Result.
const (
	CodeInvalidInput  = codemode.CodeInvalidInput
	CodeUnavailable   = codemode.CodeUnavailable
	CodeTimeout       = codemode.CodeTimeout
	CodeOutputLimit   = codemode.CodeOutputLimit
	CodeSnapshotLimit = codemode.CodeSnapshotLimit
	CodeMemoryLimit   = codemode.CodeMemoryLimit
	CodeAborted       = codemode.CodeAborted
	CodeInternal      = codemode.CodeInternal
)

// The reasons of failed results.
const (
	ReasonInvalidConfig       = codemode.ReasonInvalidConfig
	ReasonUnsupportedLanguage = codemode.ReasonUnsupportedLanguage
	ReasonTypeScript          = codemode.ReasonTypeScript
	ReasonModuleAccess        = codemode.ReasonModuleAccess
	ReasonSyntax              = codemode.ReasonSyntax
	ReasonShell               = codemode.ReasonShell
	ReasonRunUnavailable      = codemode.ReasonRunUnavailable
	ReasonRunExpired          = codemode.ReasonRunExpired
	ReasonRunBusy             = codemode.ReasonRunBusy
	ReasonWrongSession        = codemode.ReasonWrongSession
	ReasonWrongRun            = codemode.ReasonWrongRun
	ReasonTooManySuspended    = codemode.ReasonTooManySuspended
	ReasonTooManyPending      = codemode.ReasonTooManyPending
	ReasonRestoreFailed       = codemode.ReasonRestoreFailed
	ReasonReplayDiverged      = codemode.ReasonReplayDiverged
	ReasonStoreFailed         = codemode.ReasonStoreFailed
	ReasonToolsMissing        = codemode.ReasonToolsMissing
	ReasonNestedTool          = codemode.ReasonNestedTool
	ReasonGuestException      = codemode.ReasonGuestException
	ReasonSandboxViolation    = codemode.ReasonSandboxViolation
	ReasonWorkerCrashed       = codemode.ReasonWorkerCrashed
	ReasonEngineUnavailable   = codemode.ReasonEngineUnavailable
	ReasonQuota               = codemode.ReasonQuota
)

// The reasons of waiting results.
const (
	ReasonPendingTools = codemode.ReasonPendingTools
	ReasonTimer        = codemode.ReasonTimer
	ReasonYield        = codemode.ReasonYield
	ReasonApproval     = codemode.ReasonApproval
)

// The phases of a failed Result.
const (
	PhaseInput  = codemode.PhaseInput
	PhaseGuest  = codemode.PhaseGuest
	PhaseBridge = codemode.PhaseBridge
	PhaseHost   = codemode.PhaseHost
)

// The causes with which the contexts of calls end.
var (
	ErrAborted      = codemode.ErrAborted
	ErrSessionEnded = codemode.ErrSessionEnded
	ErrClosed       = codemode.ErrClosed
)
