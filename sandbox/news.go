package sandbox

import (
	"context"
	"io"
)

type newsKey struct{}

// WithNews returns a context for starts whose engine writes to w what it is at,
// where that takes long: the fetching of an image.
func WithNews(ctx context.Context, w io.Writer) context.Context {
	return context.WithValue(ctx, newsKey{}, w)
}

// News is where an engine writes what it is at; if nobody wants to know, nowhere.
func News(ctx context.Context) io.Writer {
	if w, ok := ctx.Value(newsKey{}).(io.Writer); ok {
		return w
	}
	return io.Discard
}
