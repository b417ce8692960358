package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
)

// signInOptions have a sign-in answer the calls that wait for it, whichever process made
// them.
func signInOptions(approvals policy.Approvals, log *slog.Logger) mcp.SignInOptions {
	return mcp.SignInOptions{
		Logger: log,
		OnSignIn: func(ctx context.Context, in mcp.SignIn) error {
			_, err := policy.AnswerAuthorization(ctx, approvals, in.Server, in.Covers, "sign-in", time.Now())
			return err
		},
	}
}
