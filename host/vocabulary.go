package host

import (
	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
)

// The words of package codemode that every embedder needs. The package has the others, such as
// the codes and reasons of failed results.
type (
	Session         = codemode.Session         // who asks: an agent, its session and its turn
	Settings        = codemode.Settings        // the limits of runs
	Quotas          = codemode.Quotas          // what one session may take of a host
	Result          = codemode.Result          // how an exec or wait ended
	PendingApproval = codemode.PendingApproval // a question that a run waits for
	ToolAnswer      = codemode.ToolAnswer      // what a caller says to a call of its own tool
	QuestionAnswer  = codemode.QuestionAnswer  // what a person says to one question
	Error           = codemode.Error           // why a host refuses something, with a code
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
