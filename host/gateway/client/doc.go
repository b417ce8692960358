// Package client is for Go programs that use a host behind a gateway.Server.
//
// A Client has the methods of a host.Host that make sense from afar, with the
// same words: a Result is what the host made, and the cell that failed is not an
// error. Errors are a *gateway.Problem, when the server refused the request, or
// say that it was not reached or made no sense; then a cell may or may not have
// run. A Client is safe for concurrent use and holds nothing but idle connections.
//
// It trusts the server it was given the address of, with its token; over plain
// http anybody on the way can read that.
package client
