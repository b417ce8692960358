// Package soak keeps a host under attack for a while and then counts what is
// left. Its tests mix good and hostile cells, yields and waits, plugin calls and
// plugins that misbehave, and kill workers and plugins at random; every good cell
// has to be right, and when the host is closed no process, goroutine, file or slot
// may remain.
//
// make test runs it for 20 seconds and make soak for five minutes, or for what
// SOAKTIME says.
package soak
