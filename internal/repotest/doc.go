// Package repotest holds the tests that are about the repository as a whole:
// which package may import which, the language of comments and documents, the
// links between documents, the contract with the tests that prove it, and the
// sizes that may only fall.
//
// The package has no code but its tests. They read sources and run go list, so
// they build in a second and need no guest.
package repotest
