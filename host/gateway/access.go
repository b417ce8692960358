package gateway

import (
	"net/http"
	"time"
)

// accessed answers a request and logs it: who asked for what and what came of it. The
// query, the headers but those of the session, and the bodies stay out.
func (s *Server) accessed(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	seen := &counting{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		args := []any{"method", r.Method, "path", shown(r.URL.Path), "status", seen.status, "bytes", seen.bytes,
			"took", time.Since(start).Round(time.Microsecond), "remote", r.RemoteAddr}
		if session, err := SessionOf(r.Header); err == nil && named(session) {
			args = append(args, "agent", session.AgentID, "sessionKey", session.SessionKey, "session", session.SessionID)
		}
		s.Logger.Info("request", args...)
	}()
	s.serve(seen, r)
}

// counting notes the status and size of an answer.
type counting struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

// Unwrap lets an http.ResponseController reach the connection.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counting) WriteHeader(status int) {
	if !c.wrote {
		c.status, c.wrote = status, true
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counting) Write(b []byte) (int, error) {
	c.wrote = true
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}
