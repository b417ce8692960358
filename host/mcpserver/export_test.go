package mcpserver

import (
	"time"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// Tenth has a server rest a tenth of the time. What it gives a call, a store or a driver
// stays, because a busy machine may need it, and so does the heartbeat, which tests do not
// expect. Call it before the first request.
func (s *Server) Tenth() {
	t := hosttest.Tenth(defaultTimes)
	t.taskAfter, t.driveStep, t.driveFor = defaultTimes.taskAfter, defaultTimes.driveStep, defaultTimes.driveFor
	t.heartbeat, t.lastAnswers = defaultTimes.heartbeat, defaultTimes.lastAnswers
	s.times = t
}

// Beat has clients hear sooner that their programs still run. Call it before the first
// request.
func (s *Server) Beat(every time.Duration) { s.times.heartbeat = every }
