// Package protocolpb holds the generated form of plugin.proto. It carries no
// compatibility promise for Go code: everything outside package protocol uses
// the hand-written types there.
package protocolpb
