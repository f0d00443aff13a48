package bridge

import (
	"strings"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// mount is an upstream server as code sees it.
type mount = sandbox.Server

// aliased lists the profile's servers, in the order of their names.
func aliased(p *policy.Profile) []mount {
	var names []string
	for _, s := range p.Servers {
		names = append(names, s.Name)
	}
	aliases := upstream.ServerAliases(names)
	list := make([]mount, 0, len(names))
	for _, s := range p.Servers {
		list = append(list, mount{Name: s.Name, Alias: aliases[s.Name], Description: s.Description})
	}
	return list
}

// find looks a server up by its name, else by its alias.
func find(list []mount, name string) (mount, bool) {
	for _, s := range list {
		if s.Name == name {
			return s, true
		}
	}
	for _, s := range list {
		if s.Alias == name {
			return s, true
		}
	}
	return mount{}, false
}

// names joins the names of servers for a message.
func names(list []mount) string {
	if len(list) == 0 {
		return "none"
	}
	var b []string
	for _, s := range list {
		b = append(b, s.Name)
	}
	return strings.Join(b, ", ")
}

// pick returns the servers that a run names, or all of them if it names none.
func pick(all []mount, wanted []string, p *policy.Profile) ([]mount, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	var list []mount
	for _, w := range wanted {
		s, ok := find(all, w)
		if !ok {
			return nil, &policy.UnknownServer{Server: w, Profile: p.Name, Servers: serverNames(all)}
		}
		if _, twice := find(list, s.Name); !twice {
			list = append(list, s)
		}
	}
	return list, nil
}
