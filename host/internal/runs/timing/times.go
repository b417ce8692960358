// Package timing has the times that the run engine waits for.
package timing

import "time"

// Times are what callers, runs and hosts wait for.
type Times struct {
	// QuestionGrace is how long people have to answer before the caller hears that they are
	// asked: those who look at what happens answer in that time, and a model is spared a
	// turn.
	QuestionGrace time.Duration
	// ClientGrace is how soon a caller hears of a call that it is to answer itself, while
	// other calls of its program continue.
	ClientGrace time.Duration
	// AnswerMargin bounds how much earlier than its deadline a caller gets its result. At the
	// deadline itself it would be gone, and the run with it.
	AnswerMargin time.Duration
	// LeastRetry and MostRetry are the bounds of a RetryAfter.
	LeastRetry, MostRetry time.Duration

	// QuestionSpan is within which a run may ask people questionsASpan times.
	QuestionSpan time.Duration
	// ApprovalRetry is how soon approvals are looked at again after their store has failed, or
	// has not let one expire.
	ApprovalRetry time.Duration

	// EvictAfter is how long a guest stays in its worker while it waits for a tool. To
	// evict and restore a guest costs about half a millisecond. A tool this slow takes at
	// most a fiftieth longer, and a faster tool pays nothing.
	EvictAfter time.Duration
	// CPUGrace is what a turn may take beyond the run's budget before its worker is
	// stopped: the CPU time of a turn is known only when the turn ends.
	CPUGrace time.Duration
	// ServiceGrace is what a snapshot or a restore may take beyond the time of a turn. A
	// worker that needs longer, while this host runs, is stopped.
	ServiceGrace time.Duration
	// QueryTime bounds what the catalog may take for one turn of a guest.
	QueryTime time.Duration

	// PollEvery is how often runs that may continue without a caller are looked for.
	PollEvery time.Duration
	// DecisionsEvery is how often decisions are, unless the store of approvals tells of one.
	DecisionsEvery time.Duration
	// AdvancePatience is how long an advance waits for calls of the guest before the run is
	// suspended again.
	AdvancePatience time.Duration
	// FirstPause is how long a run that could not continue is left alone. The pause doubles
	// until LongestPause.
	FirstPause, LongestPause time.Duration
	// WakeTimeout bounds how long a run is kept from others to tell them of it.
	WakeTimeout time.Duration

	// ClaimPatience is how long a wait gives a process that has released a run to finish its
	// calls. One that takes longer drives the run.
	ClaimPatience time.Duration
	// ClaimRetry is how often such a wait looks whether the calls are finished.
	ClaimRetry time.Duration
	// ClaimedAgain is how soon a run that has run out of time looks again whether it has
	// ended.
	ClaimedAgain time.Duration

	// ClaimLook is how often a host looks whether a claim that another host holds is free now.
	ClaimLook time.Duration
	// AskAgain is how soon it asks a host again that has not answered.
	AskAgain time.Duration
	// HolderPatience is how long a caller who names no time waits for a host that does not answer.
	HolderPatience time.Duration
	// HostLook is how often a host looks whether those that it asks live still.
	HostLook time.Duration

	// FirstRetry is the pause before a step in the background is tried again. The pause doubles
	// until LongestRetry.
	FirstRetry, LongestRetry time.Duration
	// SweepEvery is how often a host looks for runs in its store that expired, and for
	// questions about runs, that no living process would end, because the one they
	// belonged to is gone.
	SweepEvery time.Duration
	// KeepFirst is how long a host has lived when it keeps its guest build although it has
	// stored no run. Commands that run one cell rarely get there.
	KeepFirst time.Duration
	// NotedAgain is how often a build in use is noted, far below guestbuilds.UnusedFor.
	NotedAgain time.Duration
	// TriedAgain is how long a build that could not be kept is not tried again. Runs are
	// suspended without it until then, and do not wait for a directory that is full or
	// locked.
	TriedAgain time.Duration
	// DenialPause is how often the log has a warning of one kind. Metrics count them all.
	DenialPause time.Duration

	// DriverGrace is how long Close waits for the Execs and Waits that it has aborted.
	// They end when their workers are killed.
	DriverGrace time.Duration
	// LastWakesTimeout bounds how long a host that closes tells the others of its runs.
	LastWakesTimeout time.Duration
}

// Defaults are the times of a host.
var Defaults = Times{
	QuestionGrace: 10 * time.Second,
	ClientGrace:   250 * time.Millisecond,
	AnswerMargin:  time.Second,
	LeastRetry:    time.Second,
	MostRetry:     5 * time.Minute,

	QuestionSpan:  10 * time.Second,
	ApprovalRetry: time.Second,

	EvictAfter:   25 * time.Millisecond,
	CPUGrace:     100 * time.Millisecond,
	ServiceGrace: time.Second,
	QueryTime:    time.Second,

	PollEvery:       time.Second,
	DecisionsEvery:  10 * time.Second,
	AdvancePatience: time.Second,
	FirstPause:      time.Second,
	LongestPause:    5 * time.Minute,
	WakeTimeout:     2 * time.Second,

	ClaimPatience: 10 * time.Second,
	ClaimRetry:    20 * time.Millisecond,
	ClaimedAgain:  100 * time.Millisecond,

	ClaimLook:      100 * time.Millisecond,
	AskAgain:       2 * time.Second,
	HolderPatience: 10 * time.Second,
	HostLook:       500 * time.Millisecond,

	FirstRetry:   100 * time.Millisecond,
	LongestRetry: 5 * time.Second,
	SweepEvery:   time.Minute,
	KeepFirst:    5 * time.Second,
	NotedAgain:   time.Minute,
	TriedAgain:   30 * time.Second,
	DenialPause:  time.Second,

	DriverGrace:      10 * time.Second,
	LastWakesTimeout: 5 * time.Second,
}
