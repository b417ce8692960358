package mcp

import "time"

// The ranges of the timeouts.
const (
	minTimeout         = 100 * time.Millisecond
	maxConnectTimeout  = 10 * time.Minute
	maxCallTimeout     = time.Hour
	defConnectTimeout  = 30 * time.Second
	defCallTimeout     = 60 * time.Second
	maxServers         = 256
	maxPatternsPerList = 1000
)

// The ranges of the limits.
const (
	maxConcurrentCalls = 1000
	maxCallRate        = 1000
	minResultBytes     = 1 << 10
	maxResultBytes     = 8 << 20
)

// The bounds of one server's list of tools.
const (
	maxTools        = 10_000
	maxPages        = 1000
	maxListBytes    = 32 << 20
	maxSchemaBytes  = 256 << 10
	maxTitle        = 256
	maxDescription  = 16 << 10
	maxCursor       = 64 << 10
	maxListWarnings = 20 // lines of the log about one list
)
