// Package child runs the process of a plugin for go-plugin: its three pipes, the line by
// which it says where it listens, and its end. Package plugins uses it for its plugins, and
// package conformance to look at one closely; what may be said on the way is theirs.
package child
