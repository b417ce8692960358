package host

import (
	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
)

// The words of package codemode that every embedder needs. The package has the others, such as
// the codes and reasons of failed results.
type (
	Session         = codemode.Session
	Settings        = codemode.Settings
	Quotas          = codemode.Quotas
	Result          = codemode.Result
	PendingApproval = codemode.PendingApproval
	ToolAnswer      = codemode.ToolAnswer
	QuestionAnswer  = codemode.QuestionAnswer
	Error           = codemode.Error
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

// The statuses of a Result.
const (
	StatusCompleted = codemode.StatusCompleted
	StatusWaiting   = codemode.StatusWaiting
	StatusFailed    = codemode.StatusFailed
)

// The causes with which the contexts of calls end.
var (
	ErrAborted      = codemode.ErrAborted
	ErrSessionEnded = codemode.ErrSessionEnded
	ErrClosed       = codemode.ErrClosed
)
