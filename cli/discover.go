package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
	"bridge/upstream/clients"
)

// AllowSelf is a variable of the environment: if it is true, a bridge mounts
// servers that are bridges too, and does so even as the server of another.
const AllowSelf = "MCP_BRIDGE_ALLOW_SELF_SERVER"

// discovery is what was found in the configurations of other clients, and what
// was not, for a profile that looks there.
type discovery struct {
	sources []string
	seen    string // the files as they were before they were read

	allowSelf bool // servers may be bridges
	found     []clients.Found
	warnings  []clients.Warning
	undefined []policy.Error // servers that the profile names
	notes     []string       // what is to be said beside
}

// discover mounts what the profile finds in the configurations of other
// clients, unless this bridge is itself the server of another.
func (c *choice) discover(p *policy.Profile) (*policy.Profile, error) {
	allow, err := allowSelf()
	if err != nil {
		return nil, err
	}
	d := discovery{sources: p.Discover, allowSelf: allow}
	c.discovery = &d
	if os.Getenv(upstream.Marker) != "" && !allow {
		if len(p.Servers) > 0 || len(p.Discover) > 0 {
			d.notes = append(d.notes, "this bridge runs as the server of another bridge, and mounts no servers; "+AllowSelf+"=true lets it")
		}
		d.sources = nil
		return p.WithoutServers(), nil
	}
	if os.Getenv(clients.Config) != "" && !strings.Contains(strings.Join(p.Discover, "\n"), clients.All) {
		d.notes = append(d.notes, fmt.Sprintf("%s is set but not used: profile %q does not discover %q", clients.Config, p.Name, clients.All))
	}
	if len(p.Discover) == 0 {
		return p, nil
	}
	d.seen = d.fingerprint()
	d.found, d.warnings = clients.Find(p.Discover, clients.Options{AllowSelf: allow})
	var list []definition.Server
	for _, f := range d.found {
		list = append(list, f.Server)
	}
	if dir, ok := c.standIns(); ok {
		list = append(list, standingFound(dir)...)
	}
	p = p.WithServers(list)
	d.undefined = p.Undefined()
	return p, nil
}

// allowSelf is what the variable says.
func allowSelf() (bool, error) {
	value := os.Getenv(AllowSelf)
	if value == "" {
		return false, nil
	}
	allow, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s: %q is neither true nor false", AllowSelf, value)
	}
	return allow, nil
}

// log writes down what was found and what could not be used.
func (d *discovery) log(log *slog.Logger) {
	if d == nil {
		return
	}
	for _, note := range d.notes {
		log.Warn(note)
	}
	for _, w := range d.warnings {
		level := slog.LevelWarn
		if w.Minor {
			level = slog.LevelInfo
		}
		log.Log(context.Background(), level, w.String())
	}
	for _, e := range d.undefined {
		log.Warn(e.Error())
	}
	for _, f := range d.found {
		log.Debug("found", "server", f.Name, "of", f.Client, "at", f.Source.String())
	}
}

// examine tells the doctor what was read, and what in it cannot be used.
func (d *discovery) examine() []check {
	if d == nil {
		return nil
	}
	var checks []check
	for _, note := range d.notes {
		checks = append(checks, check{"clients", warn, note, ""})
	}
	servers := map[string]int{}
	var files []string
	for _, f := range d.found {
		if servers[f.Source.File]++; servers[f.Source.File] == 1 {
			files = append(files, f.Source.File)
		}
	}
	for _, file := range files {
		checks = append(checks, check{"client", ok, file + ": " + counted(servers[file], "server"), ""})
	}
	for _, w := range d.warnings {
		if w.Minor {
			checks = append(checks, check{"client", ok, w.String(), ""})
			continue
		}
		checks = append(checks, check{"client", warn, w.String(), "correct it there, or write the server down in a policy"})
	}
	for _, e := range d.undefined {
		checks = append(checks, check{"profile", warn, e.Error(), "define the server under servers in the policy, or correct its name"})
	}
	return checks
}

// place is where a server was found, "" if it is the policy's own.
func (d *discovery) place(server string) string {
	if d == nil {
		return ""
	}
	for _, f := range d.found {
		if f.Name == server {
			return f.Source.String()
		}
	}
	return ""
}

// outdated tells whether other servers would be found now. The files are read
// only if one of them has changed: some are written to all the time, for reasons
// that have nothing to do with servers.
func (d *discovery) outdated() bool {
	if d == nil {
		return false
	}
	now := d.fingerprint()
	if now == d.seen {
		return false
	}
	found, warnings := clients.Find(d.sources, clients.Options{AllowSelf: d.allowSelf})
	if !slices.EqualFunc(found, d.found, func(a, b clients.Found) bool { return reflect.DeepEqual(a.Server, b.Server) }) ||
		!slices.EqualFunc(warnings, d.warnings, func(a, b clients.Warning) bool { return a.Message == b.Message && a.Pos.File == b.Pos.File }) {
		return true
	}
	d.seen, d.found, d.warnings = now, found, warnings
	return false
}

// fingerprint describes the files that were looked into without reading them.
func (d *discovery) fingerprint() string {
	var b strings.Builder
	for _, path := range clients.Files(d.sources, clients.Options{}) {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}
