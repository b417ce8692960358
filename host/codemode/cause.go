package codemode

import "errors"

// ErrAborted is the cause with which the calls of an aborted run end.
var ErrAborted = errors.New("the run was aborted")

// ErrSessionEnded is the cause of the end of a run's calls when its session has ended.
var ErrSessionEnded = errors.New("the session has ended")

// ErrClosed is the cause of what a closed host refuses.
var ErrClosed = errors.New("host is closed")
