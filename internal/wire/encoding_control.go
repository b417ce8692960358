package wire

// Type returns TypeHello.
func (*Hello) Type() Type { return TypeHello }

func (m *Hello) encode(e *encoder) {
	e.u32(m.Version)
	e.b = append(e.b, m.BuildID[:]...)
	e.bool(m.Required)
}

// decode reads of another version's Hello only what every version starts with,
// so that the worker can say whom it does not understand.
func (m *Hello) decode(d *decoder) {
	if m.Version = d.u32("version"); !Spoken(m.Version) {
		d.b = nil
		return
	}
	copy(m.BuildID[:], d.take(len(m.BuildID), "build id"))
	m.Required = d.bool("required")
}

// Type returns TypeStart.
func (*Start) Type() Type { return TypeStart }

func (m *Start) encode(e *encoder) {
	e.str(m.Cell.Language)
	e.str(m.Cell.Source)
	e.u32(uint32(len(m.Cell.Namespaces)))
	for _, n := range m.Cell.Namespaces {
		e.str(n.Global)
		e.str(n.ID)
	}
	encodeLimits(e, m.Cell.Limits)
	e.u64(m.BudgetMicros)
	e.trace(m.Trace)
}

func (m *Start) decode(d *decoder) {
	m.Cell.Language = d.str(MaxPathBytes, "language")
	m.Cell.Source = d.str(MaxSource, "source")
	if n := d.count(MaxNamespaces, 8, "namespaces"); n > 0 {
		m.Cell.Namespaces = make([]NamespaceRef, n)
	}
	for i := range m.Cell.Namespaces {
		m.Cell.Namespaces[i].Global = d.str(MaxPathBytes, "namespace global")
		m.Cell.Namespaces[i].ID = d.str(MaxPathBytes, "namespace id")
	}
	m.Cell.Limits = decodeLimits(d)
	m.BudgetMicros = d.u64("budget")
	m.Trace = d.trace()
}

func encodeLimits(e *encoder, l Limits) {
	e.u64(l.MemoryBytes)
	e.u32(l.MaxValueBytes)
	e.u32(l.MaxNodes)
	e.u32(l.MaxDepth)
	e.u32(l.MaxOutputItems)
}

func decodeLimits(d *decoder) Limits {
	return Limits{
		MemoryBytes:    d.u64("memory limit"),
		MaxValueBytes:  d.u32("value limit"),
		MaxNodes:       d.u32("node limit"),
		MaxDepth:       d.u32("depth limit"),
		MaxOutputItems: d.u32("output item limit"),
	}
}

// Type returns TypeTurn.
func (*Turn) Type() Type { return TypeTurn }

func (m *Turn) encode(e *encoder) {
	e.u32(uint32(len(m.Settlements)))
	for _, s := range m.Settlements {
		e.u64(s.ID)
		e.bool(s.OK)
		e.bytes(s.JSON)
	}
	e.u64(m.BudgetMicros)
	e.trace(m.Trace)
}

func (m *Turn) decode(d *decoder) {
	if n := d.count(MaxSettlements, 13, "settlements"); n > 0 {
		m.Settlements = make([]Settlement, n)
	}
	for i := range m.Settlements {
		m.Settlements[i] = Settlement{
			ID:   d.u64("settlement id"),
			OK:   d.bool("settlement outcome"),
			JSON: d.json(MaxTurn, false, "settlement"),
		}
	}
	m.BudgetMicros = d.u64("budget")
	m.Trace = d.trace()
}

// Type returns TypeSnapshot.
func (*Snapshot) Type() Type { return TypeSnapshot }

func (m *Snapshot) encode(e *encoder) { e.u64(m.MaxBytes) }
func (m *Snapshot) decode(d *decoder) { m.MaxBytes = d.u64("size limit") }

// Type returns TypeRestore.
func (*Restore) Type() Type { return TypeRestore }

func (m *Restore) encode(e *encoder) {
	encodeLimits(e, m.Limits)
	e.bytes(m.Image)
}

func (m *Restore) decode(d *decoder) {
	m.Limits = decodeLimits(d)
	m.Image = d.bytes(MaxImage, "image")
}

// Type returns TypeFileData.
func (*FileData) Type() Type { return TypeFileData }

func (m *FileData) encode(e *encoder) {
	e.bool(m.Found)
	e.bytes(m.Data)
}

func (m *FileData) decode(d *decoder) {
	m.Found = d.bool("found")
	m.Data = d.bytes(MaxFile, "file")
}

// Type returns TypeReset.
func (*Reset) Type() Type { return TypeReset }

func (*Reset) encode(*encoder) {}
func (*Reset) decode(*decoder) {}
