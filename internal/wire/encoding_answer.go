package wire

// Type returns TypeReady.
func (*Ready) Type() Type { return TypeReady }

func (m *Ready) encode(e *encoder) {
	e.u32(m.Version)
	e.str(m.EngineID)
	e.u32(uint32(len(m.Layers)))
	for _, l := range m.Layers {
		e.str(l.Name)
		e.str(l.State)
		e.str(l.Detail)
	}
}

func (m *Ready) decode(d *decoder) {
	m.Version = d.u32("version")
	m.EngineID = d.str(MaxPathBytes, "engine id")
	if n := d.count(MaxLayers, 12, "layers"); n > 0 {
		m.Layers = make([]Layer, n)
	}
	for i := range m.Layers {
		m.Layers[i] = decodeLayer(d)
	}
}

func decodeLayer(d *decoder) Layer {
	l := Layer{
		Name:   d.str(MaxPathBytes, "layer name"),
		State:  d.str(MaxPathBytes, "layer state"),
		Detail: d.str(MaxPathBytes, "layer detail"),
	}
	switch l.State {
	case LayerOn, LayerOff, LayerFailed:
	default:
		d.fail("layer state %q is unknown", l.State)
	}
	return l
}

// Type returns TypeNeedFile.
func (*NeedFile) Type() Type { return TypeNeedFile }

func (m *NeedFile) encode(e *encoder) { e.str(m.Path) }
func (m *NeedFile) decode(d *decoder) { m.Path = d.str(MaxPathBytes, "file path") }

// Type returns TypeImage.
func (*Image) Type() Type { return TypeImage }

func (m *Image) encode(e *encoder) { e.bytes(m.Data) }
func (m *Image) decode(d *decoder) { m.Data = d.bytes(MaxImage, "image") }

// Type returns TypeRestored.
func (*Restored) Type() Type { return TypeRestored }

func (*Restored) encode(*encoder) {}
func (*Restored) decode(*decoder) {}

// Type returns TypeFault.
func (*Fault) Type() Type { return TypeFault }

func (m *Fault) encode(e *encoder) {
	e.str(m.Code)
	e.str(m.Reason)
	e.str(clip(m.Message, MaxErrorText))
}

func (m *Fault) decode(d *decoder) {
	m.Code = d.str(MaxPathBytes, "fault code")
	m.Reason = d.str(MaxPathBytes, "fault reason")
	m.Message = d.str(MaxErrorText, "fault message")
	if d.err == nil && (!knownCode(m.Code) || !knownReason(m.Reason)) {
		d.fail("fault %q/%q is unknown", m.Code, m.Reason)
	}
}
