// Package output collects what a program emits and keeps a result within its limit.
package output
