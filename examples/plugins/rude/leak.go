package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"github.com/quoinhq/quoin/sdk"
)

// vault is what the plugin knows and should keep to itself.
type vault struct{ token sdk.Secret }

func (v *vault) open(_ context.Context, c sdk.Config) (err error) {
	if c.HasSecret("token") {
		v.token, err = c.Secret("token")
	}
	return err
}

type leakInput struct {
	Where string `json:"where,omitempty" enum:"result,key,base64,error,details,progress,log,field,print,stderr,panic" jsonschema:"where the secret turns up; default result"`
}

// leak gives the secret away as a careless plugin does.
func (v *vault) leak(_ context.Context, c *sdk.Call, in leakInput) (map[string]any, error) {
	token := v.token.Reveal()
	switch in.Where {
	case "key":
		return map[string]any{token: []string{"x" + token}}, nil
	case "base64":
		return map[string]any{"header": "Basic " + base64.StdEncoding.EncodeToString([]byte(token))}, nil
	case "error":
		return nil, errors.New("GET https://example.org/?token=" + token + ": 401")
	case "details":
		return nil, &sdk.Error{Code: "denied", Message: "No.", Details: map[string]string{"token": token}}
	case "progress":
		return nil, c.Progress("signing in with " + token)
	case "log":
		c.Logger.Warn("signed in with " + token)
	case "field":
		c.Logger.Warn("signed in", "token", token)
	case "print":
		fmt.Println("token is", token)
	case "stderr":
		fmt.Fprintln(os.Stderr, "token is", token)
	case "panic":
		panic("bad token " + token)
	}
	return map[string]any{"token": token, "printed": fmt.Sprint(v.token)}, nil
}
