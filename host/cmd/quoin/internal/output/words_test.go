package output

import (
	"os/exec"
	"strings"
	"testing"
)

func TestFirstLine(t *testing.T) {
	for s, want := range map[string]string{
		"one\ntwo": "one", "\n\n one\n": "one", "": "", "\x1b[31mred": `\x1b[31mred`, strings.Repeat("é", 101): strings.Repeat("é", 99) + "…",
	} {
		if got := FirstLine(s); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", s, got, want)
		}
	}
}

// TestShellWord asks a shell what it reads.
func TestShellWord(t *testing.T) {
	for _, word := range []string{"plain", "", "two words", "it's", `$HOME "x" \`, "a\nb", "*", "~"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("the shell reads %q as %q, %v", word, out, err)
		}
	}
}
