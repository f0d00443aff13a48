package cli

import (
	"errors"
	"fmt"
	"strings"

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
	checks = append(checks, check{"policies", ok, fmt.Sprintf("%s; profiles: %s", where, strings.Join(all.Profiles(), ", ")), ""})
	p, err := c.load()
	if err != nil {
		return nil, found(err, "bridge doctor --profile NAME, without what is said to be wrong")
	}
	checks = append(checks, check{"profile", ok, fmt.Sprintf("%q", p.Name), ""})
	for _, d := range definitions(p) {
		checks = append(checks, examineServer(d))
	}
	return p, checks
}

// examineServer looks for what a server is started with. It does not start it.
func examineServer(d upstream.Definition) check {
	what := fmt.Sprintf("server %q", d.Name)
	path, err := upstream.Locate(d)
	if err != nil {
		return check{what, fail, err.Error(), "install the program, set the variable, or correct servers: " + d.Name + " in the policy"}
	}
	return check{what, ok, path, ""}
}
