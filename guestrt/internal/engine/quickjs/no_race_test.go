//go:build !race

package quickjs

// raceFactor divides what is too slow under the race detector.
const raceFactor = 1
