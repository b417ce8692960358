package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/quoinhq/quoin/host/modeltools"
)

// messages is Anthropic's API.
type messages struct{ client anthropic.Client }

func openMessages(o options) provider {
	with := []option.RequestOption{option.WithMaxRetries(o.retries)}
	if o.baseURL != "" {
		with = append(with, option.WithBaseURL(o.baseURL))
	}
	if o.key != "" {
		with = append(with, option.WithAPIKey(o.key))
	}
	return messages{anthropic.NewClient(with...)}
}

func (messages) kind() modeltools.Provider { return modeltools.ProviderAnthropic }

func (messages) said(text string) any {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

// answers is one message: the API wants the results of all calls in it.
func (messages) answers(calls []call) []any {
	var blocks []anthropic.ContentBlockParamUnion
	for _, c := range calls {
		blocks = append(blocks, anthropic.NewToolResultBlock(c.ID, c.Answer, c.Failed))
	}
	return []any{anthropic.NewUserMessage(blocks...)}
}

// reply caches tools and instructions with the provider: they are the same bytes in every
// request of a conversation.
func (p messages) reply(ctx context.Context, stop context.CancelCauseFunc, r request, say func(string)) (*reply, error) {
	stream := p.client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: anthropic.Model(r.model), MaxTokens: maxTokens,
		System: []anthropic.TextBlockParam{{Text: r.instructions, CacheControl: anthropic.NewCacheControlEphemeralParam()}},
	}, option.WithJSONSet("messages", r.items), option.WithJSONSet("tools", r.tools), option.WithMiddleware(guarded(r.verify, stop)))
	var all anthropic.Message
	return read(stream, func(event anthropic.MessageStreamEventUnion) (*reply, error) {
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
		return nil, nil
	})
}

func messageReply(m *anthropic.Message) (*reply, error) {
	if m.StopReason == anthropic.StopReasonMaxTokens {
		return nil, errTruncated
	}
	items, err := encoded(m.ToParam())
	out := &reply{items: items}
	for _, block := range m.Content {
		if use, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			out.calls = append(out.calls, call{ID: use.ID, Name: use.Name, Arguments: string(use.Input)})
		}
	}
	return out, err
}
