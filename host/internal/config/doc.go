// Package config reads configuration against a table of fields, and makes the JSON Schema
// and the reference page from the same table, so that the three cannot drift apart. It is
// for package host, which has the table of what there is to configure.
//
// # Nouns
//
// A [Field] is one setting: its name, its kind and range, what it does, and the variable it
// is kept in. The value of the variable before reading is the default. A [Table] is the
// fields of a whole configuration. A [Report] says which value each field has and where that
// came from. A [Problem] is one fault, with its place.
//
//	limits := struct{ Timeout time.Duration }{10 * time.Second}
//	table := config.Table{EnvPrefix: "QUOIN_", Fields: []config.Field{
//		config.Duration("timeoutMs", &limits.Timeout, time.Millisecond, 100, 60_000, "Bounds one call."),
//	}}
//	report, err := table.Read(config.Input{File: "quoin.json5", Text: text, Environ: os.Environ()})
//
// # Precedence
//
// Command line over environment over file over default. Each source sets the
// fields it names and no others; a list is replaced as a whole. Entries of a map
// can come from the file alone. They are read after all else, so that what they
// inherit is settled.
//
// # Failure
//
// Read reports every fault there is, not only the first, as an *[Error]: wrong
// types, unknown and repeated names, text that is not JSON5. A number outside its
// range is not a fault: it is clamped, and the Report has a warning. When there is
// an error, the variables hold nothing that can be relied on.
//
// # Trust
//
// Any text may be given; what of it is repeated in a message is bounded.
package config
