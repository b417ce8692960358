// Package client is for Go programs that use a host behind a gateway.Server.
//
//	c, err := client.New("http://127.0.0.1:8787", client.Options{Token: token})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	r, err := c.Exec(ctx, session, host.ExecInput{Code: "return 6 * 7"})
//
// # Methods
//
// A Client has the methods of a host.Host that make sense across a connection, with
// the same names and types. Exec, Wait, Answer, PendingInput and Abort drive runs.
// Runs, Run and EndRun list and end them. Approvals, Decide, AllowEdited,
// AnswerQuestion, Grants and RevokeGrant are for the people who approve calls and
// answer what tools ask. Tools, Tool, Namespaces and ModelTools
// describe what a model gets. Each method that acts for a session takes it as an
// argument, so one Client serves all users of a program.
//
// Exec and Wait return at the end of a run, or when it waits. What happens until then is in
// the events of the server, GET /v1/events: the example of Exec follows one run.
//
// # Failure
//
// A cell that fails is a Result and not an error. An error is a *gateway.Problem
// when the server refused the request. Any other error says that the server was not
// reached or that its answer makes no sense. Then a cell may or may not have run:
// Sent tells you whether it may have.
//
// # Concurrency and trust
//
// A Client is safe for concurrent use and holds nothing but idle connections. It
// sends the token to the server at its URL and follows no redirects. Over plain http
// each machine on the way can read the token.
package client
