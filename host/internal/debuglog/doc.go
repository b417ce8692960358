// Package debuglog writes what is needed to debug code mode in a gateway, when an
// environment variable asks for it:
//
//	QUOIN_DEBUG_CODE_MODE=1                         decisions about runs: started, suspended, resumed, ended, calls
//	QUOIN_DEBUG_MODEL_PAYLOAD=tools|full-redacted   names of the tools in a model's payload, or the payload
//	QUOIN_DEBUG_SSE=events|peek                     server-sent events by name and size, or the first five of a stream
//
// Unset, empty and "0" mean off. Any other value is a warning that names the
// accepted ones, and means off.
//
// Everything goes through package redact and is capped, yet a payload may still
// hold prompts and message text: full-redacted is for short sessions.
//
// A Log is safe for concurrent use. A nil *Log is one with everything off, so
// that callers need not ask.
package debuglog
