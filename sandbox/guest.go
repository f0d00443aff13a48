package sandbox

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed guest/*.py
var guestFiles embed.FS

// boot is the program on the guest's command line. It reads the frame that
// carries all other modules.
const boot = "boot"

// guestProgram returns the arguments that start the guest, and the first
// frame of the wire, which gives it its modules.
func guestProgram() (args []string, frame []byte, err error) {
	entries, err := guestFiles.ReadDir("guest")
	if err != nil {
		return nil, nil, err
	}
	modules := make(map[string]string, len(entries))
	for _, entry := range entries {
		source, err := guestFiles.ReadFile("guest/" + entry.Name())
		if err != nil {
			return nil, nil, err
		}
		modules[strings.TrimSuffix(entry.Name(), ".py")] = string(source)
	}
	program := modules[boot]
	delete(modules, boot)
	frame, err = encodeFrame(message{Method: "boot", Params: mustRaw(map[string]any{
		"modules": modules,
		"frame":   MaxFrame,
	})})
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the guest's source: %w", err)
	}
	return []string{"-I", "-c", program}, frame, nil
}

// mustRaw encodes values of our own making, which always can be.
func mustRaw(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}
