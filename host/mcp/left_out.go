package mcp

// LeftOut are tools that a server has and that cannot be used, for one reason, or the parts
// of their input schemas.
type LeftOut struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`           // of tools
	Tools  []string `json:"tools"`           // the first of them, with what could not be read in brackets
	Parts  bool     `json:"parts,omitempty"` // only parts of their input schemas are left out
}

// unreadParts is the reason why parts of input schemas are left out.
const unreadParts = "a validator cannot read them, so the server judges these arguments"

// maxLeftOut is how many tools are named for one reason.
const maxLeftOut = 5

// maxReasons bounds how many are told apart.
const maxReasons = 1000
