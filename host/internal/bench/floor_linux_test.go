package bench_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// peerVariable makes this binary the other process of a floor: a socket's, if it is
// socketPeer, else gRPC's, which listens at that path.
const (
	peerVariable = "QUOIN_BENCH_PEER"
	socketPeer   = "socket"
)

func init() {
	what := os.Getenv(peerVariable)
	if what == "" {
		return
	}
	if err := servePeer(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// messageBytes is about what a turn of a guest sends and receives for one call.
const messageBytes = 64

// servePeer is the whole life of the other process.
func servePeer(what string) error {
	if what == socketPeer {
		return answerMessages(os.NewFile(3, "host"))
	}
	l, err := net.Listen("unix", what)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	s.RegisterService(&echoService, nil)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
		s.Stop()
	}()
	return s.Serve(l)
}

// answerMessages sends every message back until the connection ends. It reads as a guest
// worker does: the thread waits in the kernel.
func answerMessages(conn *os.File) error {
	b := make([]byte, messageBytes)
	for {
		_, err := io.ReadFull(conn, b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = conn.Write(b)
		}
		if err != nil {
			return err
		}
	}
}

const echoMethod = "/quoin.bench.Echo/Echo"

// echoService is the least that gRPC can serve.
var echoService = grpc.ServiceDesc{
	ServiceName: "quoin.bench.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := &wrapperspb.BytesValue{}
		return in, decode(in)
	}}},
}

// startSocketPeer returns a function that sends a message to another process and waits
// for the answer, without blocking a thread, as the host does.
func startSocketPeer(b *testing.B) func() error {
	b.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		b.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "peer"), os.NewFile(uintptr(fds[1]), "host")
	startPeer(b, socketPeer, theirs)
	theirs.Close()
	b.Cleanup(func() { ours.Close() })
	m := make([]byte, messageBytes)
	return func() error {
		if _, err := ours.Write(m); err != nil {
			return err
		}
		_, err := io.ReadFull(ours, m)
		return err
	}
}

// startRPCPeer returns a function that makes one call to another process.
func startRPCPeer(b *testing.B) func() error {
	b.Helper()
	path := filepath.Join(b.TempDir(), "echo.sock")
	startPeer(b, path)
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	in, out := &wrapperspb.BytesValue{Value: make([]byte, messageBytes)}, &wrapperspb.BytesValue{}
	return func() error { return conn.Invoke(context.Background(), echoMethod, in, out) }
}

// startPeer starts this binary as the other process. It ends with the benchmark, after
// the cleanups that follow.
func startPeer(b *testing.B, what string, files ...*os.File) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env, c.Stderr, c.ExtraFiles = append(os.Environ(), peerVariable+"="+what), os.Stderr, files
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			b.Error(err)
		}
	})
}

// processorTime is what this process and its children have used: guest workers, plugins
// and peers.
func processorTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	pids := []string{strconv.Itoa(os.Getpid())}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		pids = append(pids, strings.Fields(string(children))...)
	}
	for _, s := range pids {
		pid, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		const everyThread = 2 // see guestrt/meter_linux.go
		var ts unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|everyThread), &ts) == nil {
			sum += time.Duration(ts.Nano())
		}
	}
	return sum
}
