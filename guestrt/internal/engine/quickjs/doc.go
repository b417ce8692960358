// Package quickjs is the guest engine: QuickJS with a heap that can be taken out of
// one process and continued in another. Only the worker process links it.
//
// It is made with one of two libraries: QuickJS translated to Go, in the files that end
// in _go_linux.go, or quickjs-ng in C, under the build tag quickjs_c, in those that end
// in _c_linux.go. All else is the same code, and so are the tests. Command quoin-native
// makes the library in C and prints the variables that the Go tool needs for it.
//
// # Nouns
//
// The arena is one mapping at a fixed address that holds every byte QuickJS
// owns, plus the state of our allocator. The template is the arena as it is
// after the engine and the prelude were initialised; it is built once per
// process, is the same in every process of one build but for padding that
// nothing reads, and lives in a memfd. A VM is a private copy-on-write view of
// the template. An image is the words in which a VM's arena differs from the
// template, compressed, behind a header that binds it to the executable that
// made it.
//
// # Use
//
//	e, err := quickjs.Open(quickjs.Config{BuildID: id})
//	vm, err := e.New(engine.Options{Seed: seed})
//	report, err := vm.Load(engine.Cell{Source: src, FileName: "cell.js", Config: config}, deadline)
//	for report.Status == wire.StatusIdle {
//		report, err = vm.Turn(settlements, deadline)
//	}
//	err = vm.Discard()
//
// # Lifecycle
//
// A process has at most one Engine, because the arena's address is fixed, and
// an Engine has at most one live VM. Discard makes the arena what the
// template is, byte for byte, and gives back what the VM took above it; the next
// New or Restore starts from there. Close unmaps all.
//
// # Concurrency
//
// Nothing here may be called concurrently. A turn runs on the caller's
// goroutine; Options.Files is called on it and must not touch the VM.
//
// # Failure
//
// What the guest did wrong is in wire.Report.Err: code timeout (interrupted at
// the deadline), memory_limit_exceeded, invalid_input (the cell does not
// compile) or internal_error with reason guest_exception. A Go error means
// that the VM or the image is at fault; it matches one of the errors in package
// engine. A VM that failed in either way must be discarded. A memory fault in the
// library in C ends the process.
//
// # Memory limit
//
// The limit counts every byte of the guest's heap, the prelude and allocator
// headers included. The first allocation that would cross the limit, less a
// small reserve, fails and the guest sees a catchable out of memory error. The
// reserve then lets it handle the error; a second crossing ends the guest.
// In a few functions QuickJS does not survive a refused allocation; there the default
// engine ends the guest at once.
//
// # Trust
//
// Guest code is hostile but confined to the arena by the engine; the worker's
// sandbox stands behind that. Images are checked for damage and origin before
// a byte is mapped, but they hold function pointers: a user who can forge the
// checksum can run code in the worker. The host authenticates images.
//
// # Limits of the technique
//
// Images need function addresses that are equal in every process, so a
// position independent executable is refused at Open, and so is any platform
// but Linux on amd64 and arm64, and a kernel with pages of more than 64 KiB.
// The prelude must come out the same every time it is initialised: it may not
// keep a time or a random number from then. Native loops inside the engine (regular expressions, sorting,
// large copies) do not poll the interrupt; the host kills the worker then.
package quickjs
