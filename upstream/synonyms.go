package upstream

import "strings"

// synonymWeight is how much a word counts that only means much the same.
const synonymWeight = 0.5

// synonymGroups are words that people and authors of tools use for the same, a group
// on each line. A word may be in several groups.
const synonymGroups = `
	delete remove erase drop unlink rm
	delete clear clean
	create add new make insert open
	make generate build draw
	get fetch retrieve read show view load
	download fetch save
	fetch crawl scrape request http
	list enumerate browse show print
	search find lookup query discover
	filter select query
	update edit modify change set
	rename move mv
	navigate open visit browse
	send post publish write
	write save store put
	run execute exec evaluate start launch invoke
	stop kill terminate end cancel abort
	revert undo reset restore
	folder directory dir mkdir
	create mkdir
	copy cp
	echo repeat
	compress gzip zip archive
	file document doc attachment
	document record row entry
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
	database db sql mongodb sqlite postgre mysql
	javascript js script
	command shell terminal bash
	environment env variable
	page website url web internet
	url uri address link http
	email mail
	event meeting appointment calendar
	user member person people account
	remember memory observation memorise
	fact observation
	config configuration setting preference
	size length
	copy clone duplicate fork
	upload attach
	sum total add plus addition
	calculate compute sum arithmetic math
	subtract minus difference
	multiply times product
	divide quotient
	type kind
	argument parameter param
`

// phrases are pairs of words of which the first means the third beside the
// second: who adds numbers wants their sum, who adds a comment does not.
const phrases = `
	add number sum
	plus number sum
	download url fetch
	download page fetch
	download website fetch
	get url fetch
	open url navigate
	request http fetch
`

// synonyms has for each stem those that mean much the same.
var synonyms = readSynonyms()

// phrase is what a word means beside another.
type phrase struct{ beside, means string }

// meant has for each stem what it means beside others.
var meant = readPhrases()

func readPhrases() map[string][]phrase {
	all := map[string][]phrase{}
	for line := range strings.Lines(phrases) {
		if w := strings.Fields(line); len(w) == 3 {
			all[stem(w[0])] = append(all[stem(w[0])], phrase{stem(w[1]), stem(w[2])})
		}
	}
	return all
}

// readSynonyms gives for each stem those that mean much the same.
func readSynonyms() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(synonymGroups) {
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
