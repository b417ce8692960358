// Runs one program in github.com/buke/quickjs-go and prints what driver.c prints.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"

	quickjs "github.com/buke/quickjs-go"
)

func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

func run(source string) (took float64, check string) {
	rt := quickjs.NewRuntime()
	defer rt.Close()
	ctx := rt.NewContext()
	defer ctx.Close()
	start := processor()
	v := ctx.Await(ctx.Eval(source))
	defer v.Free()
	if v.IsException() {
		fmt.Fprintln(os.Stderr, ctx.Exception())
		os.Exit(1)
	}
	check = v.ToString()
	return processor() - start, check
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	times, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	source := "(async()=>{" + string(data) + "\n})()"
	var out struct {
		Micros []float64 `json:"micros"`
		Check  string    `json:"check"`
	}
	for i := -1; i < times; i++ {
		took, check := run(source)
		out.Check = check
		if i >= 0 {
			out.Micros = append(out.Micros, took)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}
