// Package guests has the guest workers of a host: of the build that new runs use, and of other
// builds, which finish what they have suspended.
package guests
