package protocol

import "fmt"

// Version is the protocol version of this build, MinVersion the oldest that it
// speaks too. A manifest names the version its plugin is to be spoken to in; the
// host offers that one alone, and the plugin answers with it or is refused.
//
// Version 2 has what version 1 has, and host services, secrets, and what errors say
// of retries and effects.
const (
	Version    = 2
	MinVersion = 1
)

// CheckVersion explains why a host of this build cannot run a plugin of that
// version; nil if it can.
func CheckVersion(v int) error {
	switch {
	case v > Version:
		return fmt.Errorf("the plugin speaks protocol version %d, this host versions %d to %d; update the host, or install a build of the plugin for version %d", v, MinVersion, Version, Version)
	case v < MinVersion:
		return fmt.Errorf("the plugin speaks protocol version %d, this host versions %d to %d; rebuild the plugin with a current sdk", v, MinVersion, Version)
	}
	return nil
}
