// Package modeltools makes the two tools that a model is shown, exec and wait.
//
// [Definitions] writes their descriptions and schemas for what a run can reach.
// [Render] writes tools as the field "tools" of a request to a provider. Gateways get
// the tools of one request from package host (Host.ModelTools), and render them here.
//
// All functions are safe for concurrent use.
package modeltools
