package command

// Judgement is what a Judge says of a command line.
type Judgement struct {
	// Allowed reports that the allow-list has every effective command.
	Allowed bool
	// Reasons say, for a person, why the command is not allowed.
	Reasons []string
	// Effective are the commands that the line would run, in order, where they can be
	// known.
	Effective []Effective
	// Line is the command line to run in the place of the one judged when it is
	// allowed: the executables as absolute paths, every word quoted but for patterns of
	// file names. It is there for every line with parts that are all understood.
	Line string
	// NoInput reports that a program of Line would take commands from its input. Line
	// gives it no input, and a caller must not either.
	NoInput bool
	// Subject is what a decision for always is remembered for: a digest of the effective
	// commands and of the contents of their files. Empty when the line cannot be
	// remembered.
	Subject string
	// Files are the files that the line takes commands from, where its words name them,
	// and Loaders the programs that may load more when they run.
	Files   []File
	Loaders []string
	// Missing is the program that the line would run first, if it is not there.
	Missing string
	// Refused reports that the line must not run at all, whatever a person says: it is
	// too long to be shown whole, or has bytes that a shell would not take as they are
	// shown.
	Refused bool
}

// Effective is a command that a line would run.
type Effective struct {
	// Path is the file that would run, as an absolute path without links.
	Path string `json:"path"`
	// Argv are the words, with the name of the program as it was written.
	Argv []string `json:"argv"`
	// Digest is the SHA-256 of the file, in hexadecimal.
	Digest string `json:"digest"`
	// Behind are the programs that were taken away, outermost first: "env", "nice".
	Behind []string `json:"behind,omitempty"`
}
