package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"
)

// pixel is an image of one red point, silence a sound of no length.
var pixel, silence = makePixel(), makeSilence()

func makePixel() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 1, 1))
	m.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// makeSilence is a WAV file without samples: mono, 8 kHz, 16 bits.
func makeSilence() []byte {
	b := append([]byte("RIFF"), 36, 0, 0, 0)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	for _, v := range []uint16{1, 1} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	for _, v := range []uint32{8000, 16000} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range []uint16{2, 16} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return append(b, 'd', 'a', 't', 'a', 0, 0, 0, 0)
}

// addResources adds the resources that the scenarios read.
func addResources(s *mcp.Server) {
	add := func(name, kind string, read func(uri string) *mcp.ResourceContents) {
		s.AddResource(&mcp.Resource{Name: name, URI: "test://" + name, MIMEType: kind}, reading(read))
	}
	add("static-text", "text/plain", func(uri string) *mcp.ResourceContents {
		return &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "a static text"}
	})
	add("static-binary", "image/png", func(uri string) *mcp.ResourceContents {
		return &mcp.ResourceContents{URI: uri, MIMEType: "image/png", Blob: pixel}
	})
	add("watched-resource", "text/plain", func(uri string) *mcp.ResourceContents {
		return &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "a watched text"}
	})
	template := uritemplate.MustNew("test://template/{id}/data")
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: template.Raw(), MIMEType: "application/json"},
		reading(func(uri string) *mcp.ResourceContents {
			id := template.Match(uri).Get("id").String()
			return &mcp.ResourceContents{URI: uri, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q}`, id)}
		}))
}

func reading(read func(uri string) *mcp.ResourceContents) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{read(req.Params.URI)}}, nil
	}
}

// says is a prompt of one text.
func says(words string) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return messages(&mcp.TextContent{Text: words}), nil
	}
}

// messages is a prompt of those contents, each a message of the user.
func messages(parts ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, c := range parts {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}

// addPrompts adds the prompts that the scenarios get.
func (f *fixture) addPrompts(s *mcp.Server) {
	argument := func(name string) *mcp.PromptArgument { return &mcp.PromptArgument{Name: name, Required: true} }
	s.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "Says one thing."}, says("a simple prompt"))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "Says its arguments.", Arguments: []*mcp.PromptArgument{argument("arg1"), argument("arg2")}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := req.Params.Arguments
			return messages(&mcp.TextContent{Text: fmt.Sprintf("arg1=%s arg2=%s", a["arg1"], a["arg2"])}), nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "Shows a resource.", Arguments: []*mcp.PromptArgument{argument("resourceUri")}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			doc := &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "an embedded text"}
			return messages(&mcp.EmbeddedResource{Resource: doc}, &mcp.TextContent{Text: "Read this."}), nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "Shows an image."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return messages(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, &mcp.TextContent{Text: "Look at this."}), nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks what it is for."}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if given, ok := accepted(req.Params.InputResponses, "user_context")["context"].(string); ok {
			return messages(&mcp.TextContent{Text: "context: " + given}), nil
		}
		return &mcp.GetPromptResult{RequestState: f.seal("context"), InputRequests: mcp.InputRequestMap{
			"user_context": form("What is this for?", `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`),
		}}, nil
	})
}

// complete knows no completions.
func complete(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
}
