package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/literal"
)

// An Override is a choice of whoever starts the bridge, made by an environment
// variable, in place of what a profile leaves open.
type Override struct {
	Variable string // its name

	path  []string // of the field in a profile
	given string   // the variable's value
	value string   // the field's, as CUE
}

// A variable is an environment variable that sets a field of the profile.
type variable struct {
	name string
	path []string
	cue  func(given string) (value string, ok bool)
	rule string // what values it has, for one that is none
}

// variables are those that there are. Those with two names are there twice.
func variables() []variable {
	memory, pids, cpus := []string{"limits", "memory"}, []string{"limits", "pids"}, []string{"limits", "cpus"}
	const (
		aSize   = "is not a size such as 512m or 2g"
		aNumber = "is not a whole number such as 64"
		seconds = "is not a whole number of seconds such as 30"
	)
	return []variable{
		{"MCP_BRIDGE_RUNTIME", []string{"engine"}, engineCUE, "is not an engine; engines: " + strings.Join(schemaEngines().names, ", ")},
		{"MCP_BRIDGE_IMAGE", []string{"image"}, textCUE, ""},
		{"MCP_BRIDGE_CONTAINER_USER", []string{"user"}, textCUE, ""},
		{"MCP_BRIDGE_SECURITY_OPT", []string{"security"}, wordsCUE, ""},
		{"MCP_BRIDGE_MEMORY_LIMIT", memory, sizeCUE, aSize},
		{"MCP_BRIDGE_MEMORY", memory, sizeCUE, aSize},
		{"MCP_BRIDGE_PIDS_LIMIT", pids, wholeCUE, aNumber},
		{"MCP_BRIDGE_PIDS", pids, wholeCUE, aNumber},
		{"MCP_BRIDGE_CPUS", cpus, numberCUE, "is not a number of processors such as 0.5 or 2"},
		{"MCP_BRIDGE_CPU_QUOTA", cpus, quotaCUE, "is not a number of microseconds in each 100 milliseconds such as 50000 for half a processor"},
		{"MCP_BRIDGE_MAX_TIMEOUT", []string{"timeout", "max"}, wholeCUE, seconds},
		{"MCP_BRIDGE_TIMEOUT", []string{"timeout", "default"}, wholeCUE, seconds},
		{"MCP_BRIDGE_SESSION_PERSIST", []string{"session", "persist"}, truthCUE, "is neither true nor false"},
		{"MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT", []string{"session", "idle"}, numberCUE, "is not a number of seconds such as 300"},
		{"MCP_BRIDGE_STATE_DIR", []string{"state"}, textCUE, ""},
		{"MCP_BRIDGE_OUTPUT_MODE", []string{"format"}, formatCUE, "is not an output mode; modes: compact, toon, json"},
	}
}

// Variables are the names of the environment variables that make choices.
func Variables() []string {
	var names []string
	for _, v := range variables() {
		names = append(names, v.name)
	}
	return names
}

// Overrides are the choices that an environment makes, as os.Environ has it.
// Variables that are empty make none. Those that are malformed, or contradict
// each other, are reported as Errors, each with the variable as its file.
func Overrides(environ []string) ([]Override, error) {
	env := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			env[name] = strings.TrimSpace(value)
		}
	}
	var list []Override
	var errs Errors
	for _, v := range variables() {
		given := env[v.name]
		if given == "" {
			continue
		}
		value, ok := v.cue(given)
		if !ok {
			errs = append(errs, Error{Pos: Pos{File: v.name}, Message: fmt.Sprintf("%q %s", clip(given), v.rule)})
			continue
		}
		o := Override{Variable: v.name, path: v.path, given: given, value: value}
		if other, ok := same(list, o.path); !ok {
			list = append(list, o)
		} else if other.value != o.value {
			errs = append(errs, o.against("differs from", other))
		}
	}
	usual, ok := same(list, []string{"timeout", "default"})
	if most, both := same(list, []string{"timeout", "max"}); ok && both && usual.number() > most.number() {
		errs = append(errs, usual.against("is more than", most))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return list, nil
}

// same is the override in the list of the field at path.
func same(list []Override, path []string) (Override, bool) {
	i := slices.IndexFunc(list, func(o Override) bool { return slices.Equal(o.path, path) })
	if i < 0 {
		return Override{}, false
	}
	return list[i], true
}

// against is the mistake that two variables contradict each other.
func (o Override) against(how string, other Override) Error {
	return Error{Pos: Pos{File: o.Variable}, Message: fmt.Sprintf("%q %s %s, which is %q", clip(o.given), how, other.Variable, clip(other.given))}
}

// number is the value of an override that is a whole number.
func (o Override) number() int64 {
	n, _ := strconv.ParseInt(o.value, 10, 64)
	return n
}

func engineCUE(given string) (string, bool) {
	name := strings.ToLower(given)
	return strconv.Quote(name), slices.Contains(schemaEngines().names, name)
}

func formatCUE(given string) (string, bool) {
	name := strings.ToLower(given)
	return strconv.Quote(name), slices.Contains([]string{"compact", "toon", "json"}, name)
}

func textCUE(given string) (string, bool) { return literal.String.Quote(given), true }

// wordsCUE is a list of what has spaces between.
func wordsCUE(given string) (string, bool) {
	words := strings.Fields(given)
	for i, w := range words {
		words[i] = literal.String.Quote(w)
	}
	return "[" + strings.Join(words, ", ") + "]", true
}

func wholeCUE(given string) (string, bool) {
	n, err := strconv.ParseInt(given, 10, 64)
	return strconv.FormatInt(n, 10), err == nil
}

func numberCUE(given string) (string, bool) {
	f, err := strconv.ParseFloat(given, 64)
	return plainNumber(f), err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && math.Abs(f) < 1e15
}

// quotaCUE is processors for microseconds of each 100 milliseconds.
func quotaCUE(given string) (string, bool) {
	n, err := strconv.ParseInt(given, 10, 32)
	return plainNumber(float64(n) / 100_000), err == nil && n > 0
}

// plainNumber is a number without an exponent.
func plainNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?:([kmgt])i?b?|b)?$`)

// sizeCUE is bytes for a size as container engines have it: k, kb, Ki and KiB
// are all 1024 bytes.
func sizeCUE(given string) (string, bool) {
	parts := sizePattern.FindStringSubmatch(strings.ToLower(given))
	if parts == nil {
		return "", false
	}
	n, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return "", false
	}
	if parts[2] != "" {
		n *= float64(int64(1) << (10 * (1 + strings.Index("kmgt", parts[2]))))
	}
	return strconv.FormatInt(int64(n), 10), n < 1<<62
}

func truthCUE(given string) (string, bool) {
	switch strings.ToLower(given) {
	case "true", "yes", "on", "1":
		return "true", true
	case "false", "no", "off", "0":
		return "false", true
	}
	return "", false
}
