package podman

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bridge/sandbox"

	"github.com/containers/podman/v5/pkg/errorhandling"
)

// exitOf undoes what conmon does with the status of a process that a signal
// ended. A process that exits with such a status itself is taken for one.
func exitOf(code int32) sandbox.Exit {
	const signals = 64
	if code > 128 && code <= 128+signals {
		return sandbox.Exit{Code: -1, Signal: int(code - 128)}
	}
	return sandbox.Exit{Code: int(code)}
}

// lost tells whether a wire ended because the service did.
func lost(s *service) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.answers(ctx) {
		return nil
	}
	return fmt.Errorf("podman at %s does not answer any more", s.place.name)
}

// answered tells whether an error is an answer of podman, and no want of one.
func answered(err error) bool {
	var answer *errorhandling.ErrorModel
	return errors.As(err, &answer) && answer.ResponseCode < http.StatusInternalServerError
}

func missing(err error) bool {
	var answer *errorhandling.ErrorModel
	return errors.As(err, &answer) && answer.ResponseCode == http.StatusNotFound
}
