package docker

import (
	"context"
	"fmt"
	"strings"

	"bridge/sandbox"

	"github.com/moby/moby/client"
)

// absent is the error of an image of a registry that the daemon does not have.
type absent struct {
	link *link
	name string
}

func (a *absent) Error() string {
	return fmt.Sprintf("image %q is not on docker; run: docker pull %s", a.name, a.name)
}

// fetch has the daemon fetch it.
func (a *absent) fetch(ctx context.Context) error {
	news := sandbox.News(ctx)
	fmt.Fprintf(news, "docker fetches the image %s\n", a.name)
	got, err := a.link.client.ImagePull(ctx, a.name, client.ImagePullOptions{})
	if err == nil {
		err = follow(got, news)
		got.Close()
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
		return fmt.Errorf("docker cannot fetch the image %q: %s; see whether this works: docker pull %s", a.name, text, a.name)
	}
	return nil
}
