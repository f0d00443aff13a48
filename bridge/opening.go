package bridge

import (
	"context"

	"bridge/sandbox"
)

// opening is a sandbox that is being started, or has been.
type opening struct {
	done     chan struct{} // closed when box or err is set
	box      *sandbox.Session
	err      error
	used     bool // a run has been started in it
	progress startProgress
}

// startProgress is what an engine reports while it starts a sandbox. What nobody
// reads is dropped.
type startProgress chan string

func (p startProgress) Write(text []byte) (int, error) {
	select {
	case p <- string(text):
	default:
	}
	return len(text), nil
}

// wait returns when the sandbox is there or has failed, and passes on what there
// is to tell meanwhile. It is false if the context ends first.
func (o *opening) wait(ctx context.Context, stream Stream) bool {
	if stream == nil {
		stream = func(string, string, int64) {}
	}
	for {
		select {
		case <-o.done:
			for len(o.progress) > 0 {
				stream("stderr", <-o.progress, 0)
			}
			return true
		case <-ctx.Done():
			return false
		case text := <-o.progress:
			stream("stderr", text, 0)
		}
	}
}

// ended tells whether an opening has failed or its sandbox has ended.
func (o *opening) ended() bool {
	select {
	case <-o.done:
	default:
		return false
	}
	if o.err != nil {
		return true
	}
	select {
	case <-o.box.Done():
		return true
	default:
		return false
	}
}
