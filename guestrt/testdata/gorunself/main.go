// A host that is its own guest worker, for go run.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/internal/wire"
)

func main() {
	guestserver.ServeIfWorker()
	ctx := context.Background()
	p, err := guestrt.NewPool(ctx, guestrt.Config{Isolation: guestrt.IsolationBestEffort})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	w, err := p.Acquire(ctx, "", wire.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Release(w)
	r, err := w.Start(ctx, wire.Cell{Language: "javascript", Source: "return 6 * 7"}, nil, time.Now().Add(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(r.Value))
}
