// Command protogen turns plugin.proto into Go without a protoc binary: it
// compiles the file in this process and feeds the request to the two pinned
// code generators, which the Go tool fetches through the module proxy.
//
// It is a module of its own so that the compiler stays out of the product's
// go.mod. Run it with `go generate ./plugins/protocol`.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// generators are the code generators and the versions their output is
// committed for.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen <directory> <file.proto>")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run compiles dir/file and writes what the generators make of it into dir.
func run(ctx context.Context, dir, file string) error {
	request, err := compile(ctx, dir, file)
	if err != nil {
		return err
	}
	for _, g := range generators {
		if err := generate(ctx, g, request, dir); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

// compile returns the code generator request for one proto file, encoded.
func compile(ctx context.Context, dir, file string) ([]byte, error) {
	c := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(ctx, file)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(request)
}

// generate runs one code generator and writes its files into dir.
func generate(ctx context.Context, generator string, request []byte, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "run", generator)
	cmd.Stdin = bytes.NewReader(request)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
