package wire

// Version is the protocol this package speaks. A host and a worker of different
// versions refuse each other: they are built together and never mixed.
const Version uint32 = 3
