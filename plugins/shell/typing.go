package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/quoinhq/quoin/internal/shell/sessions"
)

// typing is what an action writes to a process.
type typing struct {
	bytes []byte
	eof   bool
}

// typingOf is what a call writes to a process.
func typingOf(session *sessions.Session, in processInput) (typing, error) {
	tty := session.State().Spec.Command.Terminal != nil
	switch in.Action {
	case "write":
		if in.Data == "" && !in.EOF {
			return typing{}, invalid("write needs data, or eof: true")
		}
		return typing{bytes: []byte(in.Data), eof: in.EOF}, nil
	case "submit":
		enter := "\n"
		if tty {
			enter = "\r"
		}
		return typing{bytes: []byte(in.Data + enter)}, nil
	case "paste":
		if in.Text == "" {
			return typing{}, invalid("paste needs text")
		}
		return typing{bytes: pasted(in.Text, tty)}, nil
	default:
		return keys(in.Keys)
	}
}

func invalid(message string) error {
	return &sessions.Error{Code: sessions.CodeInvalid, Message: message}
}

// pasted brackets a text on a terminal, so that an editor does not take it for keys.
// The text cannot end the brackets itself.
func pasted(text string, tty bool) []byte {
	const open, end = "\x1b[200~", "\x1b[201~"
	if !tty {
		return []byte(text)
	}
	for strings.Contains(text, end) || strings.Contains(text, open) {
		text = strings.NewReplacer(end, "", open, "").Replace(text)
	}
	return []byte(open + strings.ReplaceAll(text, "\n", "\r") + end)
}

// maxKeys bounds the keys of one call.
const maxKeys = 1000

// keys is what a terminal sends for keys.
func keys(names []string) (typing, error) {
	if len(names) == 0 || len(names) > maxKeys {
		return typing{}, invalid("send-keys needs keys, 1000 at most")
	}
	var b []byte
	for _, name := range names {
		b = append(b, key(name)...)
	}
	return typing{bytes: b}, nil
}

// named are the keys that have names, as tmux calls them.
var named = map[string]string{
	"Enter": "\r", "Tab": "\t", "BTab": "\x1b[Z", "Escape": "\x1b", "Space": " ", "BSpace": "\x7f", "Backspace": "\x7f",
	"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
	"Home": "\x1b[H", "End": "\x1b[F", "IC": "\x1b[2~", "Insert": "\x1b[2~", "DC": "\x1b[3~", "Delete": "\x1b[3~",
	"PPage": "\x1b[5~", "PageUp": "\x1b[5~", "NPage": "\x1b[6~", "PageDown": "\x1b[6~",
	"F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~",
	"F7": "\x1b[18~", "F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
}

func key(name string) string {
	if sequence, ok := named[name]; ok {
		return sequence
	}
	if rest, ok := strings.CutPrefix(name, "M-"); ok && rest != "" {
		return "\x1b" + key(rest)
	}
	if rest, ok := strings.CutPrefix(name, "C-"); ok && len(rest) == 1 {
		if c := rest[0] & 0x5f; c >= '@' && c <= '_' && rest[0] >= '@' {
			return string(rune(c & 0x1f))
		}
		if rest == "?" {
			return "\x7f"
		}
	}
	return name
}

// subject is what an approval of the input is held against.
func (t typing) subject(id string) string {
	b, err := json.Marshal([]any{"input", id, t.bytes, t.eof})
	if err != nil {
		panic(err) // bytes always encode
	}
	sum := sha256.Sum256(b)
	return "once:" + hex.EncodeToString(sum[:])
}
