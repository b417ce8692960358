package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// openSignIns opens the sign-ins of a state directory, if the runs are in it.
func openSignIns(state string, runs runstore.Store, o mcp.SignInOptions) (_ *mcp.SignIns, err error) {
	dir, ok := runs.(*runstore.Dir)
	if !ok {
		return nil, nil
	}
	if o.Cipher, err = dir.Cipher("mcp sign-ins"); err != nil {
		return nil, err
	}
	signIns, err := mcp.OpenSignIns(filepath.Join(state, "signins"), o)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return signIns, nil
}

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
