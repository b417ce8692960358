package mcpserver

import "time"

// Beat has clients hear sooner that their programs go on. Call it before the first request.
func (s *Server) Beat(every time.Duration) { s.heartbeat = every }
