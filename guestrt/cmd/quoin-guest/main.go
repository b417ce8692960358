// Command quoin-guest is the guest worker: the sealed process in which one
// guest at a time runs. A Quoin host starts it; it has no use of its own.
package main

import "github.com/quoinhq/quoin/guestrt/guestserver"

func main() {
	guestserver.Main()
}
