package podman

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/containers/podman/v5/pkg/errorhandling"
)

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
