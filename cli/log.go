package cli

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// newLog is the log on stderr, at the level of MCP_BRIDGE_LOG_LEVEL, or the
// usual one of the command.
func newLog(usual slog.Level) (*slog.Logger, error) {
	level, err := logLevel(os.Getenv("MCP_BRIDGE_LOG_LEVEL"), usual)
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

func logLevel(name string, usual slog.Level) (slog.Level, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "":
		return usual, nil
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return usual, fmt.Errorf("MCP_BRIDGE_LOG_LEVEL: %q is no level; levels: debug, info, warn, error", name)
}
