//go:build !cgo

package guestrt

const withCgo = false
