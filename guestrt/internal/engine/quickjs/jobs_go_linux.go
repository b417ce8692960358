//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

// runJobs executes pending jobs until no job is left or the guest must stop.
func (v *vm) runJobs() {
	for !v.stopped() {
		r := v.js.job()
		if r == 0 {
			return
		}
		if r < 0 {
			v.jobErr = v.thrown()
		}
	}
}
