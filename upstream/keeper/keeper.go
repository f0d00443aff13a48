// Package keeper is the small process that stands between the bridge and one
// MCP server, so that nothing of the server outlives the bridge.
//
// The bridge starts itself again under the name Name; this package then takes
// over before main, and before any large package is initialised. It imports
// the standard library only. It starts the server, adopts whatever the server
// leaves behind, and ends all of it when the bridge closes the control pipe,
// which the kernel does for a bridge that was killed. It knows neither MCP nor
// what the server is for.
//
// Only Linux lets a process adopt orphans; elsewhere the package is these
// types alone and nothing starts a keeper.
package keeper

// Name is argv[0] of a keeper.
const Name = "bridge-keeper"

// Descriptors of a keeper beyond the three standard ones, which are the
// server's own.
const (
	// Control carries one Spec as JSON from the bridge. Its end of file means
	// that everything has to go.
	Control = 3
	// Status carries lines from the keeper: "started PID" or "failed CAUSE",
	// later "ended WORDS".
	Status = 4
)

// Spec is the server that a keeper starts.
type Spec struct {
	Path string   // the program, absolute or relative to Dir
	Args []string // its arguments, with argv[0]
	Env  []string // its whole environment
	Dir  string   // its working folder; "" is the bridge's
}
