package main

import (
	"encoding/json"
	"time"

	"bridge/policy"
)

// ruled is a policy with a rule for the arguments of one of its tools.
func ruled(string) string {
	return `import "strings"

servers: bench: command: "bench"
profiles: bench: servers: bench: tools: {
	echo: {}
	create_issue: args: {
		repo!:  =~"^acme/"
		title!: strings.MaxRunes(80)
		state?: "open" | "closed"
	}
}
`
}

// policyCheck measures the decision on one call: by the tool's name alone, beside
// a look-up in a map, and by its arguments as well, beside one by the name.
func (b *bench) policyCheck() ([]figure, error) {
	path, err := b.write(ruled)
	if err != nil {
		return nil, err
	}
	p, err := policy.Load([]string{path})
	if err != nil {
		return nil, err
	}
	profile, err := p.Profile("bench")
	if err != nil {
		return nil, err
	}
	check := func(calls int, tool, arguments string) func() (time.Duration, error) {
		return timed(func() error {
			for range calls {
				if _, err := profile.CheckCall("bench", tool, json.RawMessage(arguments)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	const named, argued = 10_000, 500
	names := map[string]bool{"echo": true}
	known := 0
	took, err := inTurns(30,
		check(named, "echo", `{"text": "x"}`),
		timed(func() error {
			for range named {
				if names["echo"] {
					known++
				}
			}
			return nil
		}),
		check(argued, "create_issue", `{"repo": "acme/site", "title": "It does not start", "state": "open"}`))
	if err != nil {
		return nil, err
	}
	byName, byMap, byArguments := took[0]/named, took[1]/named, took[2]/argued
	return []figure{{
		what:      "policy check by name",
		measured:  short(byName),
		reference: "a look-up in a map: " + short(byMap),
		ratio:     ratio(float64(byName), float64(byMap)),
		goal:      "1 µs",
		met:       byName <= time.Microsecond,
	}, {
		what:      "policy check with arguments",
		measured:  short(byArguments),
		reference: "by name: " + short(byName),
		ratio:     ratio(float64(byArguments), float64(byName)),
		goal:      "50 µs",
		met:       byArguments <= 50*time.Microsecond,
	}}, nil
}
