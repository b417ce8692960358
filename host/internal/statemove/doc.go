// Package statemove carries what hosts share from one state to another while hosts use
// both.
//
// # Nouns
//
// A [State] is a store of runs with the approvals of those runs, documents such as saved
// programs and sign-ins, and the storages of plugins. A [Mover] carries them between two
// states.
//
// # Lifecycle
//
// For hosts, a run is in one store at any moment. Its record is first marked in the source
// (Record.Moving), so that no host resumes it; then it is put, marked too, into the
// destination, with its approvals and its journal of effects; then it goes from the source;
// and then the mark goes from the destination. A move that was interrupted anywhere leaves
// marked records, and the next move continues with them. Only a run that is marked in the
// destination and gone from the source has arrived. A mark has the identity of the other
// store, and no two stores have the same: so a run continues to where it was going, and only
// the move that brought it ends there.
//
// Documents go the same way, one by one. The documents that a host trusts its servers by
// stay in the source, too. A storage goes as a whole, because the contents of two do not
// mix: it is put into the destination, and then the source is emptied if its plugin has not
// written to it since. Only a move that is interrupted between the two leaves it in both.
//
// A copy, in contrast, changes nothing in the source. Copies are marked, and no host resumes
// them until they are imported.
//
// # Concurrency
//
// The claim of a run is held while it is carried, in both states, and so are the locks of
// sign-ins, of saved programs and of what was always allowed. A run that a host has claimed
// is left.
//
// # Failure and trust
//
// What the stores say has been verified by them. A run that cannot be read is left, and
// said. A run that both stores have without a mark is left: one of them is a copy. So are a
// document and a storage that the destination has with other contents: nothing is
// overwritten.
package statemove
