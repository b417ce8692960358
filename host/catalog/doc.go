// Package catalog is the list of tools one run may reach: their ids and
// names, search, schemas and the checking of inputs against them.
package catalog
