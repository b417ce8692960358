//go:build !linux

package guestrt

func relaxTimerSlack() {}
