package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/quoinhq/quoin/host/modeltools"
)

// openAIResponses is OpenAI's newer API. The service keeps nothing: each request has all
// items, the model's encrypted reasoning with them.
type openAIResponses struct{ client openai.Client }

func (openAIResponses) kind() modeltools.Provider { return modeltools.ProviderResponses }

func (openAIResponses) said(text string) (json.RawMessage, error) {
	return json.Marshal(responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
}

func (openAIResponses) answers(calls []call) ([]json.RawMessage, error) {
	var items []json.RawMessage
	for _, c := range calls {
		output := responses.ResponseInputItemParamOfFunctionCallOutput(c.Answer)
		output.OfFunctionCallOutput.CallID = openai.String(c.ID)
		item, err := json.Marshal(output)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (p openAIResponses) reply(ctx context.Context, r request, say func(string)) (*reply, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	params, err := r.responseParams()
	if err != nil {
		return nil, err
	}
	stream := p.client.Responses.NewStreaming(ctx, params, option.WithMiddleware(guarded(r.verify, stop)))
	defer stream.Close()
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_text.delta":
			say(e.Delta)
		case "response.completed":
			return responseReply(e.Response.Output)
		case "response.incomplete":
			return nil, fmt.Errorf("%w (%s)", errTruncated, e.Response.IncompleteDetails.Reason)
		case "response.failed":
			return nil, fmt.Errorf("the model failed: %.500s (%s)", e.Response.Error.Message, e.Response.Error.Code)
		case "error":
			return nil, fmt.Errorf("the model failed: %.500s (%s)", e.Message, e.Code)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, firstOf(context.Cause(ctx), err)
	}
	return nil, errCut
}

func responseReply(output []responses.ResponseOutputItemUnion) (*reply, error) {
	var out reply
	for _, item := range output {
		out.items = append(out.items, json.RawMessage(item.RawJSON()))
		if item.Type == "function_call" {
			c := item.AsFunctionCall()
			out.calls = append(out.calls, call{ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
		}
	}
	return &out, out.check()
}

func (r *request) responseParams() (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{
		Model: r.model, Instructions: openai.String(r.instructions), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	for _, item := range r.items {
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](item))
	}
	tools, err := definitions(r.tools)
	if err != nil {
		return p, fmt.Errorf("definitions of tools: %w", err)
	}
	for _, t := range tools {
		p.Tools = append(p.Tools, param.Override[responses.ToolUnionParam](t))
	}
	return p, nil
}
