package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"bridge/definition"
)

// hold is a bridge that starts the server that its arguments name, tells its
// pid once that has answered, and waits to be killed.
func hold() int {
	set := New([]definition.Server{{Name: "toy", Command: os.Args[1], Args: os.Args[2:]}}, slog.New(slog.DiscardHandler))
	if _, err := set.Tools(context.Background(), "toy"); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	select {}
}
