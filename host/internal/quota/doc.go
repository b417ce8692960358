// Package quota shares what a host has among those who use it: bytes, guest workers,
// suspended runs, requests under way. One session or agent gets at most a share of the
// whole, and those who wait for something get it in turns, session by session.
package quota
