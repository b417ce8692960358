package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/quoinhq/quoin/host/modeltools"
)

// chatCompletions is OpenAI's older API, which most other servers of models speak too.
type chatCompletions struct{ client openai.Client }

func openChatCompletions(o options) provider { return chatCompletions{openAI(o)} }

// openAI is the client of both APIs.
func openAI(o options) openai.Client {
	with := []option.RequestOption{option.WithMaxRetries(o.retries)}
	if o.baseURL != "" {
		with = append(with, option.WithBaseURL(o.baseURL))
	}
	if o.key != "" {
		with = append(with, option.WithAPIKey(o.key))
	}
	return openai.NewClient(with...)
}

func (chatCompletions) kind() modeltools.Provider { return modeltools.ProviderOpenAI }

func (chatCompletions) said(text string) any { return openai.UserMessage(text) }

func (chatCompletions) answers(calls []call) (items []any) {
	for _, c := range calls {
		items = append(items, openai.ToolMessage(c.Answer, c.ID))
	}
	return items
}

func (p chatCompletions) reply(ctx context.Context, stop context.CancelCauseFunc, r request, say func(string)) (*reply, error) {
	system, err := encoded(openai.SystemMessage(r.instructions))
	if err != nil {
		return nil, err
	}
	stream := p.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: r.model},
		option.WithJSONSet("messages", append(system, r.items...)), option.WithJSONSet("tools", r.tools), option.WithMiddleware(guarded(r.verify, stop)))
	var all openai.ChatCompletionAccumulator
	return read(stream, func(chunk openai.ChatCompletionChunk) (*reply, error) {
		if !all.AddChunk(chunk) {
			return nil, errors.New("the parts of the answer do not belong together")
		}
		if len(chunk.Choices) > 0 {
			say(chunk.Choices[0].Delta.Content)
		}
		if len(all.Choices) != 1 || all.Choices[0].FinishReason == "" {
			return nil, nil
		}
		return chatReply(all.Choices[0])
	})
}

func chatReply(choice openai.ChatCompletionChoice) (*reply, error) {
	if choice.FinishReason == "length" {
		return nil, errTruncated
	}
	items, err := encoded(choice.Message.ToParam())
	out := &reply{items: items}
	for _, c := range choice.Message.ToolCalls {
		out.calls = append(out.calls, call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out, err
}
