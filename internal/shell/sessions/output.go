package sessions

// output is what is kept of the output of a process: its first bytes and its last.
type output struct {
	head  []byte // the first bytes, up to limit/2
	tail  []byte // a ring once it has limit/2 bytes
	next  int    // where the ring continues
	limit int
	total int64
}

func (o *output) write(p []byte) {
	o.total += int64(len(p))
	half := o.limit / 2
	if room := half - len(o.head); room > 0 {
		n := min(room, len(p))
		o.head = append(o.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > half {
		p = p[len(p)-half:]
	}
	if room := half - len(o.tail); room > 0 {
		n := min(room, len(p))
		o.tail = append(o.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(o.tail[o.next:], p)
		o.next = (o.next + n) % len(o.tail)
		p = p[n:]
	}
}

// tailStart is the position of the first byte of the tail.
func (o *output) tailStart() int64 { return o.total - int64(len(o.tail)) }

// kept is a part of the output: what is left of it before and after a gap.
type kept struct {
	before, after []byte
	omitted       int64
}

// since copies what is kept of the output from pos on.
func (o *output) since(pos int64) kept {
	pos = min(max(pos, 0), o.total)
	var k kept
	if pos < int64(len(o.head)) {
		k.before = append(k.before, o.head[pos:]...)
		pos = int64(len(o.head))
	}
	if start := o.tailStart(); pos < start {
		k.omitted = start - pos
		pos = start
	}
	k.after = make([]byte, 0, o.total-pos)
	skip := int(pos - o.tailStart())
	if skip < len(o.tail) {
		ordered := append(append([]byte(nil), o.tail[o.next:]...), o.tail[:o.next]...)
		k.after = append(k.after, ordered[skip:]...)
	}
	if k.omitted == 0 {
		k.before, k.after = append(k.before, k.after...), nil
	}
	return k
}

func (o *output) size() int { return len(o.head) + len(o.tail) }
