package toolscmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/terminal"
)

// shown is what prompt says, as JSON.
type shown struct {
	Tools []gateway.Definition `json:"tools"`
	Bytes int                  `json:"bytes"` // of names, descriptions and schemas
}

// prompting are the flags of prompt.
type prompting struct {
	app.Flags
	provider          cli.Choice
	agent, key, model string
}

func NewPrompt() *cobra.Command {
	var p prompting
	cmd := &cobra.Command{
		Use:   "prompt",
		Short: "Print what a model sees of code mode",
		Long: `Print the two tools that a model is shown in place of all others: their names,
descriptions with the limits in force, the index of tools and the namespaces,
and their schemas. With --provider, print them as a request to that API has
them in its field "tools": openai, openai-responses, anthropic, gemini or mcp.
With --server they are those of a quoin serve.`,
		Example: `  quoin prompt
  quoin prompt --provider anthropic
  quoin prompt --provider openai --server http://127.0.0.1:8787
  quoin prompt --json --config quoin.json5`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.provider.Value != "" && p.JSON {
				return cli.Usagef("both --provider and --json are given: the first prints JSON already")
			}
			return p.List(cmd, func(b app.Backend) error { return p.print(cmd, b) })
		},
	}
	p.BindHost(cmd, false)
	p.Remote.Bind(cmd)
	cmd.Flags().StringVar(&p.agent, "agent", "", "agent whose settings and rules hold")
	cmd.Flags().StringVar(&p.key, "session-key", "", "session key whose rules hold")
	cmd.Flags().StringVar(&p.model, "model", "", "model that is to see it; the configuration may turn code mode off for it")
	providers := make([]string, 0, len(modeltools.Providers()))
	for _, name := range modeltools.Providers() {
		providers = append(providers, string(name))
	}
	cli.BindChoice(cmd, &p.provider, "provider", "print the request's tools for this API", providers...)
	p.BindJSON(cmd)
	return cmd
}

// print asks for the definitions and writes them as the flags say.
func (p *prompting) print(cmd *cobra.Command, b app.Backend) error {
	// A server beyond loopback wants to know who asks.
	s := host.Session{AgentID: p.agent, SessionKey: p.key, SessionID: "cli"}
	found, err := b.ModelTools(cmd.Context(), s, modeltools.Provider(p.provider.Value), p.model)
	switch {
	case err != nil:
		return err
	case !found.Active:
		return errors.New("there is no code mode here: tools.codeMode of the configuration turns it off, for all models or for this one")
	case p.provider.Value != "":
		return output.PrintJSON(cmd.OutOrStdout(), found.Tools)
	}
	var tools []gateway.Definition
	if err := json.Unmarshal(found.Tools, &tools); err != nil {
		return err
	}
	if p.JSON {
		return output.PrintJSON(cmd.OutOrStdout(), describeTools(tools))
	}
	return printTexts(cmd.OutOrStdout(), tools)
}

func describeTools(tools []gateway.Definition) shown {
	s := shown{Tools: tools}
	for _, t := range tools {
		s.Bytes += toolBytes(t)
	}
	return s
}

func toolBytes(t gateway.Definition) int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

func printTexts(w io.Writer, tools []gateway.Definition) error {
	for i, t := range tools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		n := toolBytes(t)
		texts := fmt.Sprintf("== %s: %d bytes, about %d tokens\n\n%s\n\n%s\n", t.Name, n, n/output.BytesPerToken, t.Description, t.Parameters)
		if output.IsTerminal(w) {
			texts = terminal.Text(texts)
		}
		if _, err := io.WriteString(w, texts); err != nil {
			return err
		}
	}
	return nil
}
