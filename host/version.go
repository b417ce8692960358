package host

// Version is the version of Quoin.
const Version = "0.1.0-dev"
