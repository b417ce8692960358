package wire

import "fmt"

// Type is the first byte of a message's frames, without the continuation bit.
type Type uint8

// The message types of protocol version 1. The list is append-only; types of
// the host lie below 0x40, types of the worker above.
const (
	TypeHello    Type = 0x01
	TypeStart    Type = 0x02
	TypeTurn     Type = 0x03
	TypeSnapshot Type = 0x04
	TypeRestore  Type = 0x05
	TypeFileData Type = 0x06
	TypeReset    Type = 0x07

	TypeReady    Type = 0x41
	TypeReport   Type = 0x42
	TypeNeedFile Type = 0x43
	TypeImage    Type = 0x44
	TypeRestored Type = 0x45
	TypeFault    Type = 0x46
)

// moreFollows marks every frame of a message but its last.
const moreFollows = 0x80

// Side tells who sends a message.
type Side uint8

// The two ends of a connection.
const (
	Host Side = iota
	Worker
)

// Message is one of the message types of this package, as a pointer.
type Message interface {
	// Type names the message on the wire.
	Type() Type
	encode(e *encoder)
	decode(d *decoder)
}

type kind struct {
	name string
	from Side
	max  int // bytes of the encoded message
	make func() Message
}

// slack is what a large message may have beyond its one large field.
const slack = 1 << 10

var kinds = map[Type]kind{
	TypeHello:    {"Hello", Host, MaxSmall, func() Message { return new(Hello) }},
	TypeStart:    {"Start", Host, MaxSource, func() Message { return new(Start) }},
	TypeTurn:     {"Turn", Host, MaxTurn, func() Message { return new(Turn) }},
	TypeSnapshot: {"Snapshot", Host, MaxSmall, func() Message { return new(Snapshot) }},
	TypeRestore:  {"Restore", Host, MaxImage + slack, func() Message { return new(Restore) }},
	TypeFileData: {"FileData", Host, MaxFile + slack, func() Message { return new(FileData) }},
	TypeReset:    {"Reset", Host, MaxSmall, func() Message { return new(Reset) }},
	TypeReady:    {"Ready", Worker, MaxSmall, func() Message { return new(Ready) }},
	TypeReport:   {"Report", Worker, MaxReport, func() Message { return new(Report) }},
	TypeNeedFile: {"NeedFile", Worker, MaxSmall, func() Message { return new(NeedFile) }},
	TypeImage:    {"Image", Worker, MaxImage + slack, func() Message { return new(Image) }},
	TypeRestored: {"Restored", Worker, MaxSmall, func() Message { return new(Restored) }},
	TypeFault:    {"Fault", Worker, MaxSmall, func() Message { return new(Fault) }},
}

// String returns the name of the message type.
func (t Type) String() string {
	if k, ok := kinds[t]; ok {
		return k.name
	}
	return fmt.Sprintf("type 0x%02x", uint8(t))
}

// Encode returns the payload of a message. It fails only when the message is
// larger than its type allows.
func Encode(m Message) ([]byte, error) {
	return appendMessage(nil, m)
}

func appendMessage(b []byte, m Message) ([]byte, error) {
	start := len(b)
	e := encoder{b: b}
	m.encode(&e)
	if n, k := len(e.b)-start, kinds[m.Type()]; n > k.max {
		return nil, &TooLargeError{Type: m.Type(), Bytes: n, Max: k.max}
	}
	return e.b, nil
}

// Decode returns the message that one side sent as type t. The message's byte
// fields alias payload. Errors match ErrMalformed.
func Decode(from Side, t Type, payload []byte) (Message, error) {
	k, ok := kinds[t]
	if !ok || k.from != from {
		return nil, malformed("unexpected %v", t)
	}
	if len(payload) > k.max {
		return nil, malformed("%v has %d bytes, at most %d are allowed", t, len(payload), k.max)
	}
	m := k.make()
	d := decoder{b: payload}
	m.decode(&d)
	if err := d.done(); err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	return m, nil
}

// TooLargeError says that a message was not sent because its type does not
// allow that many bytes. Nothing of it was written.
type TooLargeError struct {
	Type  Type
	Bytes int // what the message has
	Max   int // what its type allows
}

// Error says which message was too large and by how much.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v has %d bytes, at most %d are allowed", e.Type, e.Bytes, e.Max)
}
