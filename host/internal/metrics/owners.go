package metrics

import (
	"sync"
	"sync/atomic"
)

// maxOwners bounds the values of the label owner.
const maxOwners = 100

const (
	sourceClient = "client"
	otherOwner   = "other"
)

// owners names the owners of tools, boundedly many.
type owners struct {
	known sync.Map // source and owner to struct{}
	count atomic.Int64
}

// name returns the value of the label for an owner. The caller of a run
// chooses the owner of client tools, so that all of them get one value.
func (o *owners) name(source, owner string) string {
	if source == sourceClient {
		return sourceClient
	}
	key := [2]string{source, owner}
	if _, ok := o.known.Load(key); ok {
		return owner
	}
	if o.count.Add(1) > maxOwners {
		o.count.Add(-1)
		return otherOwner
	}
	if _, again := o.known.LoadOrStore(key, struct{}{}); again {
		o.count.Add(-1)
	}
	return owner
}
