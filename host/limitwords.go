package host

import (
	"fmt"
	"strconv"
)

// withLimit adds to a failure by a limit what the limit is and which setting it
// comes from, so that the model can stay within it and the operator change it.
func (r *run) withLimit(f *failure) *failure {
	var text string
	switch {
	case f.Reason != "" || f.Phase != PhaseGuest:
		return f
	case f.Code == CodeTimeout && r.cpuLeft() == 0: // it names its limit
		return f
	case f.Code == CodeTimeout && r.allowed < r.settings.Timeout:
		text = fmt.Sprintf(" This exec or wait was given %s; the setting tools.codeMode.timeoutMs allows %s.", r.allowed, r.settings.Timeout)
	case f.Code == CodeTimeout:
		text = fmt.Sprintf(" An exec or wait may take %s (tools.codeMode.timeoutMs).", r.settings.Timeout)
	case f.Code == CodeMemoryLimit:
		text = fmt.Sprintf(" A program may use %s of memory (tools.codeMode.memoryLimitBytes).", byteSize(r.settings.MemoryLimit))
	default:
		return f
	}
	with := *f
	if n := len(with.Text); n > 0 && with.Text[n-1] != '.' {
		with.Text += "."
	}
	with.Text += text
	return &with
}

// byteSize writes a number of bytes in the largest unit that it is whole in.
func byteSize(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
