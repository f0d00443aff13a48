package upstream

import "strings"

// kinLikeness is how much a word counts that only means much the same.
const kinLikeness = 0.5

// kindred are words that people and authors of tools use for the same, a group
// on each line. A word may be in several groups.
const kindred = `
	delete remove erase drop
	create add new make insert open
	make generate build draw
	get fetch retrieve read show view load
	list enumerate browse show
	search find lookup query discover
	update edit modify change set
	rename move
	navigate open visit browse
	send post publish write
	write save store put
	run execute exec evaluate start launch invoke
	stop kill terminate end cancel abort
	revert undo reset restore
	folder directory dir
	file document doc
	doc documentation manual reference
	picture image screenshot photo
	chart plot graph diagram
	repository repo project
	message msg chat
	comment reply note
	commit revision
	history log
	issue ticket bug
	pr pull
	mr merge
	database db sql
	javascript js script
	command shell terminal bash
	environment env variable
	page website url web
	url address link
	email mail
	event meeting appointment calendar
	user member person people account
	remember memory observation memorise
	fact observation
	config configuration setting preference
	size length
	copy clone duplicate
	upload attach
	sum total
	type kind
	argument parameter param
`

// kin has for each stem those that mean much the same.
var kin = kinship()

// kinship gives for each stem those that mean much the same.
func kinship() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(kindred) {
		group := strings.Fields(line)
		for _, word := range group {
			for _, other := range group {
				if word != other {
					all[stem(word)] = append(all[stem(word)], stem(other))
				}
			}
		}
	}
	return all
}
