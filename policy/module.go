package policy

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/literal"
)

// A ModuleFile is a file of the CUE module that lets CUE's own tools understand
// policies.
type ModuleFile struct {
	Name string // below the module's folder, with slashes
	Text string
}

// ModuleSchema is the name of the schema in the module.
const ModuleSchema = "schema.cue"

// Module is the files of a CUE module whose policies lie in a folder below it:
// CUE takes what is in package policy above them for a part of them. The bridge
// reads a folder's own files alone, and so never takes the schema for policy.
//
// Editors do not follow patterns of names, so the schema is spelt out for the
// names that p has, unless it is nil.
func Module(p *Policy) []ModuleFile {
	text := schemaSource + moduleEnd
	if p != nil {
		text += p.eval.spelt()
	}
	return []ModuleFile{
		{"cue.mod/module.cue", "module: \"policies.example\"\nlanguage: version: \"v0.9.0\"\n"},
		{ModuleSchema, text},
	}
}

// spelt is which definition holds for each name in the policy.
func (e *evaluator) spelt() string {
	var b strings.Builder
	is := func(definition string, path ...string) {
		for i, name := range path {
			path[i] = literal.String.Quote(name)
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(path, ": "), definition)
	}
	b.WriteString("\n// The names that there are, for editors, which do not follow patterns.\n")
	for server := range fields(e.user, "servers") {
		is("#Server", "servers", server)
	}
	for profile, v := range fields(e.user, "profiles") {
		is("#Profile", "profiles", profile)
		for server, mount := range fields(v, "servers") {
			is("#Mount", "profiles", profile, "servers", server)
			for tool := range fields(mount, "tools") {
				is("#Tool", "profiles", profile, "servers", server, "tools", tool)
			}
			for uri := range fields(mount, "resources") {
				is("#Resource", "profiles", profile, "servers", server, "resources", uri)
			}
		}
	}
	return b.String()
}

// moduleEnd is what makes of the schema a rule for the rest of its package.
const moduleEnd = `
// This file is for CUE's own tools: what is in package policy in the folders
// below is a policy. It is not a part of any: the bridge refuses it as one.
servers: [string]:  #Server
profiles: [string]: #Profile
`

// schemaName is what a policy cannot call anything of its own. The schema lets
// every tool be named, so that with it among the policies all would be allowed.
const schemaName = "#Policy"
