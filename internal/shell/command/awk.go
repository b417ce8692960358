package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var awkOptions = readOptions("F: v: --field-separator= --assign=")

// awkRuns is what lets a program run others, read and write files by a name that it computes, or load code. The same
// characters compare and match: a program with them is not known.
var awkRuns = regexp.MustCompile(`system|getline|[|>@]|close|fflush|\binclude\b|\bload\b|extension|ARG[VC]|SYMTAB|FUNCTAB|/inet`)

// awkProfile accepts programs that print.
func awkProfile() *profile {
	return &profile{options: awkOptions, with: func(p parsed) error {
		if len(p.operands) == 0 || p.operands[0].glob {
			return errors.New("it has no program")
		}
		program := p.operands[0].text
		if what := awkRuns.FindString(program); what != "" || strings.Contains(program, "\\\n") {
			return fmt.Errorf("its program has %q, which may do more than print", what)
		}
		for _, file := range p.operands[1:] {
			if strings.Contains(file.text, "/inet") {
				return fmt.Errorf("%s is a connection to gawk", file.text)
			}
		}
		return nil
	}}
}
