// Package namespaces keeps the domain APIs that plugins put into guests:
// registration and ownership, the scope tree, its serialised form, and the
// resolution of a guest's path to the tool behind it.
package namespaces
