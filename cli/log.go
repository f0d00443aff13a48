package cli

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"bridge/policy"
	"bridge/upstream"
)

const logVariable = "MCP_BRIDGE_LOG_LEVEL"

// newLog is the log on stderr, at the level that the environment names, or the
// usual one of the command.
func newLog(usual slog.Level) (*slog.Logger, error) {
	level, err := logLevel(os.Getenv(logVariable), usual)
	if err != nil {
		return nil, err
	}
	log := slog.New(newPaced(slog.NewTextHandler(onScreen(os.Stderr), &slog.HandlerOptions{Level: level})))
	strangers(log, os.Environ())
	return log, nil
}

// strangers tells of variables with a value whose names only look like those
// of the bridge.
func strangers(log *slog.Logger, environ []string) {
	const prefix = "MCP_BRIDGE_"
	known := append(policy.Variables(), logVariable, AllowSelf)
	for i := range known {
		known[i] = strings.TrimPrefix(known[i], prefix)
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || value == "" || name == upstream.Marker || slices.Contains(known, rest) {
			continue
		}
		hint := `"bridge --help" and "bridge schema" list those that there are` + strings.Replace(policy.DidYouMean(rest, known), "mean ", "mean "+prefix, 1)
		log.Warn("a variable of the environment is not one of the bridge's", "name", name, "hint", hint)
	}
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
	return usual, fmt.Errorf("%s: %q is not a level; levels: debug, info, warn, error", logVariable, name)
}
