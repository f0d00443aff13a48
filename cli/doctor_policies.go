package cli

import (
	"errors"
	"fmt"
	"strings"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
)

// examinePolicies vets the policies and looks for the servers of the profile,
// which is nil if it cannot be used.
func (c *choice) examinePolicies() (*policy.Profile, []check) {
	where := strings.Join(c.paths(), ", ")
	vet := "bridge vet " + strings.Join(c.paths(), " ")
	if where == "" {
		where, vet = "built in", "bridge vet"
	}
	var checks []check
	found := func(err error, remedy string) []check {
		var list policy.Errors
		if !errors.As(err, &list) {
			return append(checks, check{"policies", fail, err.Error(), remedy})
		}
		for _, mistake := range list {
			checks = append(checks, check{"policies", fail, mistake.Error(), remedy})
		}
		return checks
	}
	all, err := policy.Load(c.paths())
	if err != nil {
		return nil, found(err, vet)
	}
	names := strings.Join(all.Profiles(), ", ")
	if others := all.BuiltIn(); len(others) > 0 {
		names += "; built in: " + strings.Join(others, ", ")
	}
	checks = append(checks, check{"policies", ok, where + "; profiles: " + names, ""})
	for _, w := range all.Warnings() {
		checks = append(checks, check{"policies", warn, w.Error(), vet})
	}
	p, err := c.load()
	if err != nil {
		return nil, found(err, "correct the policy, or name another profile: bridge doctor --profile NAME")
	}
	checks = append(checks, check{"profile", ok, fmt.Sprintf("%q", p.Name), ""})
	if all := c.openness(); all != "" {
		checks = append(checks, check{"profile", warn, all, lessOpen})
	}
	checks = append(checks, c.discovery.examine()...)
	for _, d := range p.Servers {
		checks = append(checks, examineServer(d, c.discovery.place(d.Name)))
	}
	return p, checks
}

// examineServer looks for what a server is started with, or where it is. It
// does not start it. One that was found is at a place in a client's
// configuration, and that it cannot be started is no fault of the policy's.
func examineServer(d definition.Server, place string) check {
	what := fmt.Sprintf("server %q", d.Name)
	path, err := upstream.Locate(d)
	switch {
	case err != nil && place != "":
		return check{what, warn, err.Error(), "install the program, set the variable, or correct " + place}
	case err != nil:
		return check{what, fail, err.Error(), "install the program, set the variable, or correct servers: " + d.Name + " in the policy"}
	case place != "":
		path += ", of " + place
	}
	return check{what, ok, path, ""}
}
