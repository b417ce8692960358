package modeltools

// GuestGlobal is a line of the description and the globals that it names.
type GuestGlobal struct {
	Names []string
	Line  string
}

// GuestGlobals returns the lines of the description about globals.
func GuestGlobals() (out []GuestGlobal) {
	for _, g := range guestGlobals {
		out = append(out, GuestGlobal{g.names, g.line})
	}
	return out
}

// PromptExample returns the example of the description.
func PromptExample(o Offer) string { return promptExample(o) }
