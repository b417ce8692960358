// Package scaffold makes the folder of a new plugin: sources with one typed
// tool and a namespace, tests, cells with expectations, and a manifest. What it
// makes builds and passes its tests as it is.
//
// A language is a folder of text/template files under templates, named for what
// they become with ".tmpl" at the end, and a function that finishes what
// templates cannot do; for Go that is the module with its dependencies.
//
// # The module
//
// A plugin in Go needs the module of Quoin. A released quoin command knows its
// version, which the new module then requires like any other. One that was built
// from a checkout has no version that another module could fetch; the new module then
// has a replace line that leads to the checkout, and the checkout's own choice of
// dependencies and their checksums, so that nothing has to be fetched that
// building the command had not fetched already. [FindSource] says which it is.
package scaffold
