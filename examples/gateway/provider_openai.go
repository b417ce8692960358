package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/quoinhq/quoin/host/modeltools"
)

// chatCompletions is OpenAI's older API, which most other servers of models speak too.
type chatCompletions struct{ client openai.Client }

func (chatCompletions) kind() modeltools.Provider { return modeltools.ProviderOpenAI }

func (chatCompletions) said(text string) (json.RawMessage, error) {
	return json.Marshal(openai.UserMessage(text))
}

func (chatCompletions) answers(calls []call) ([]json.RawMessage, error) {
	var items []json.RawMessage
	for _, c := range calls {
		item, err := json.Marshal(openai.ToolMessage(c.Answer, c.ID))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (p chatCompletions) reply(ctx context.Context, r request, say func(string)) (*reply, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	params, err := r.chatParams()
	if err != nil {
		return nil, err
	}
	stream := p.client.Chat.Completions.NewStreaming(ctx, params, option.WithMiddleware(guarded(r.verify, stop)))
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			return nil, errors.New("the parts of the answer do not belong together")
		}
		if len(chunk.Choices) > 0 {
			say(chunk.Choices[0].Delta.Content)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, firstOf(context.Cause(ctx), err)
	}
	if len(all.Choices) != 1 || all.Choices[0].FinishReason == "" {
		return nil, errCut
	}
	return chatReply(all.Choices[0])
}

func chatReply(choice openai.ChatCompletionChoice) (*reply, error) {
	if choice.FinishReason == "length" {
		return nil, errTruncated
	}
	item, err := json.Marshal(choice.Message.ToParam())
	if err != nil {
		return nil, err
	}
	out := &reply{items: []json.RawMessage{item}}
	for _, c := range choice.Message.ToolCalls {
		out.calls = append(out.calls, call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out, out.check()
}

func (r *request) chatParams() (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: r.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(r.instructions)}}
	for _, item := range r.items {
		p.Messages = append(p.Messages, param.Override[openai.ChatCompletionMessageParamUnion](item))
	}
	tools, err := definitions(r.tools)
	if err != nil {
		return p, fmt.Errorf("definitions of tools: %w", err)
	}
	for _, t := range tools {
		p.Tools = append(p.Tools, param.Override[openai.ChatCompletionToolUnionParam](t))
	}
	return p, nil
}

// firstOf returns why a context was ended, or else an error.
func firstOf(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}
