package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/quoinhq/quoin/host/modeltools"
)

// openAIResponses is OpenAI's newer API. The service keeps nothing: each request has all
// items, the model's encrypted reasoning with them.
type openAIResponses struct{ client openai.Client }

func openResponses(o options) provider { return openAIResponses{openAI(o)} }

func (openAIResponses) kind() modeltools.Provider { return modeltools.ProviderResponses }

func (openAIResponses) said(text string) any {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

func (openAIResponses) answers(calls []call) (items []any) {
	for _, c := range calls {
		output := responses.ResponseInputItemParamOfFunctionCallOutput(c.Answer)
		output.OfFunctionCallOutput.CallID = openai.String(c.ID)
		items = append(items, output)
	}
	return items
}

func (p openAIResponses) reply(ctx context.Context, stop context.CancelCauseFunc, r request, say func(string)) (*reply, error) {
	stream := p.client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: r.model, Instructions: openai.String(r.instructions), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}, option.WithJSONSet("input", r.items), option.WithJSONSet("tools", r.tools), option.WithMiddleware(guarded(r.verify, stop)))
	return read(stream, func(e responses.ResponseStreamEventUnion) (*reply, error) {
		switch e.Type {
		case "response.output_text.delta":
			say(e.Delta)
		case "response.completed":
			return responseReply(e.Response.Output), nil
		case "response.incomplete":
			return nil, fmt.Errorf("%w (%s)", errTruncated, e.Response.IncompleteDetails.Reason)
		case "response.failed":
			return nil, fmt.Errorf("the model failed: %.500s (%s)", e.Response.Error.Message, e.Response.Error.Code)
		case "error":
			return nil, fmt.Errorf("the model failed: %.500s (%s)", e.Message, e.Code)
		}
		return nil, nil
	})
}

func responseReply(output []responses.ResponseOutputItemUnion) *reply {
	out := &reply{}
	for _, item := range output {
		out.items = append(out.items, json.RawMessage(item.RawJSON()))
		if item.Type == "function_call" {
			c := item.AsFunctionCall()
			out.calls = append(out.calls, call{ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
		}
	}
	return out
}
