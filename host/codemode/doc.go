// Package codemode is the vocabulary of code mode: the nouns that a gateway, its
// policies, its stores and its logs share.
//
//   - A [Session] says who asks. A run belongs to the session that started it.
//   - A [Result] is what one exec or wait returns to the model. Its [Status] says
//     whether the program completed, waits or failed.
//   - An [Error] says why a call was refused or a run failed: by [Code], [Reason] and
//     [Phase]. [Result.Err] turns a failed Result into one.
//   - [Settings] are the limits of a run, and [Quotas] what one session or agent may
//     hold of the whole.
//   - [Telemetry] counts what a run did, and [Isolation] says how its worker was
//     confined.
//
// The package holds values only. It starts nothing and keeps nothing, and it imports only
// the helpers for text below internal, so every other package can use it. Package host
// has an alias of each type that an embedder needs: host.Session is codemode.Session.
//
// The names in JSON are those that models and HTTP clients see. They do not change,
// and the lists of codes and reasons only grow.
package codemode
