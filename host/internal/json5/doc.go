// Package json5 reads JSON5 (https://spec.json5.org) into a tree that knows where
// everything stands, and changes it in place. It is for configuration files: errors
// name line and column.
//
//	v, err := json5.Parse(text)
//	for _, m := range v.Members {
//		fmt.Println(json5.At(text, m.Offset), m.Name, m.Value.Kind)
//	}
//
// [Set] and [Remove] change one member of a text and leave the rest as it is
// written: comments, order, quotes, indentation.
//
// JSON and JWCC (JSON with comments and trailing commas) are JSON5 too.
//
// # Failure
//
// Parse stops at the first fault, a *SyntaxError. That a name stands twice in one
// object is no fault of syntax: members are kept as they are written, and it is
// the reader's to refuse the second.
//
// # Trust
//
// Any bytes may be given. Text is at most MaxBytes long and MaxDepth levels deep;
// the time to read it is proportional to its length.
package json5
