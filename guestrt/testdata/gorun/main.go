// A host that has no guest worker, for go run.
package main

import (
	"context"
	"fmt"

	"github.com/quoinhq/quoin/guestrt"
)

func main() {
	_, err := guestrt.NewPool(context.Background(), guestrt.Config{})
	fmt.Println(err)
}
