package pipeline

// Files serves the virtual files that a program of the run reads.
type Files struct{ *Run }

const prefixScopeAPI, suffixDeclaration = "namespaces/", ".d.ts"
