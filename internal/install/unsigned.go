package install

import (
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/trust"
)

// vouched reports an archive that nothing but itself vouches for: its author can
// leave the signature out, or sign with a key made for it. A folder is the user's own.
// Where there are trusted keys, stage has asked them.
func (d *directory) vouched(s *staged, verb, source string) error {
	o := d.options
	if !s.packed || len(o.Trusted) > 0 || o.AllowUnsigned {
		return nil
	}
	e := &trust.Error{PluginID: s.found.ID(), What: "the signer", By: "plugins.trustedKeys",
		Accept: "nothing of the archive has been run; if you trust it, run: " + o.command(verb, source, "--allow-unsigned")}
	if key := s.entry.Signer; key != (trust.PublicKey{}) {
		e.Got = key.String()
		e.Accept = "if you trust that key, add it to plugins.trustedKeys in the configuration; " + e.Accept
	}
	return e
}

// command is one that an error proposes, with the flags that have been given already.
func (o Options) command(verb, source string, flags ...string) string {
	for flag, given := range map[string]bool{
		"--allow-unsigned": o.AllowUnsigned,
		"--any-version":    o.AnyVersion && verb == "upgrade",
		"--new-signer":     o.NewSigner && verb == "upgrade",
	} {
		if given {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	if o.Quote != nil {
		source = o.Quote(source)
	}
	return "quoin plugin " + verb + " " + strings.Join(append(slices.Compact(flags), source), " ") + o.Flags
}
