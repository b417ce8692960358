package calls

import (
	"cmp"
	"strconv"
)

// UseKey has every call of the run use one idempotency key. It comes before the first call.
func (t *Table) UseKey(key string) { t.key = key }

// idempotencyKey returns the key of a call, by which its tool recognises a call that is made again.
func (t *Table) idempotencyKey(id uint64) string {
	return cmp.Or(t.key, t.runID+":"+strconv.FormatUint(id, 10))
}
