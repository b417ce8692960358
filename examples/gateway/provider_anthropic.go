package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/quoinhq/quoin/host/modeltools"
)

// messages is Anthropic's API.
type messages struct{ client anthropic.Client }

func (messages) kind() modeltools.Provider { return modeltools.ProviderAnthropic }

func (messages) said(text string) (json.RawMessage, error) {
	return json.Marshal(anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
}

// answers is one message: the API wants the results of all calls in it.
func (messages) answers(calls []call) ([]json.RawMessage, error) {
	var blocks []anthropic.ContentBlockParamUnion
	for _, c := range calls {
		blocks = append(blocks, anthropic.NewToolResultBlock(c.ID, c.Answer, c.Failed))
	}
	item, err := json.Marshal(anthropic.NewUserMessage(blocks...))
	return []json.RawMessage{item}, err
}

func (p messages) reply(ctx context.Context, r request, say func(string)) (*reply, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	params, err := r.messageParams()
	if err != nil {
		return nil, err
	}
	stream := p.client.Messages.NewStreaming(ctx, params, option.WithMiddleware(guarded(r.verify, stop)))
	defer stream.Close()
	var all anthropic.Message
	for stream.Next() {
		event := stream.Current()
		if err := all.Accumulate(event); err != nil {
			return nil, err
		}
		switch e := event.AsAny().(type) {
		case anthropic.ContentBlockDeltaEvent:
			if text, ok := e.Delta.AsAny().(anthropic.TextDelta); ok {
				say(text.Text)
			}
		case anthropic.MessageStopEvent:
			return messageReply(&all)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, firstOf(context.Cause(ctx), err)
	}
	return nil, errCut
}

func messageReply(m *anthropic.Message) (*reply, error) {
	if m.StopReason == anthropic.StopReasonMaxTokens {
		return nil, errTruncated
	}
	item, err := json.Marshal(m.ToParam())
	if err != nil {
		return nil, err
	}
	out := &reply{items: []json.RawMessage{item}}
	for _, block := range m.Content {
		if use, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			out.calls = append(out.calls, call{ID: use.ID, Name: use.Name, Arguments: string(use.Input)})
		}
	}
	return out, out.check()
}

// messageParams caches tools and instructions with the provider: they are the same bytes
// in every request of a conversation.
func (r *request) messageParams() (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{
		Model: anthropic.Model(r.model), MaxTokens: maxTokens,
		System: []anthropic.TextBlockParam{{Text: r.instructions, CacheControl: anthropic.NewCacheControlEphemeralParam()}},
	}
	for _, item := range r.items {
		p.Messages = append(p.Messages, param.Override[anthropic.MessageParam](item))
	}
	tools, err := definitions(r.tools)
	if err != nil {
		return p, fmt.Errorf("definitions of tools: %w", err)
	}
	for _, t := range tools {
		p.Tools = append(p.Tools, param.Override[anthropic.ToolUnionParam](t))
	}
	return p, nil
}
