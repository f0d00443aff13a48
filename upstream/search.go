package upstream

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
)

// Entry is a tool that can be found.
type Entry struct {
	Server string
	Tool   Tool
}

// Hit is a tool that was found. Scores compare within one search only.
type Hit struct {
	Entry
	Score float64
}

// Search finds tools by words, best first. See Index.
func Search(entries []Entry, query string, limit int) []Hit {
	return NewIndex(entries).Search(query, limit)
}

// weights of the places where a word is found. A tool is named for what it
// does; its description may mention anything.
const (
	nameWeight        = 4.0
	titleWeight       = 3.0
	serverWeight      = 2.0
	parameterWeight   = 1.5
	descriptionWeight = 1.0
	hintWeight        = 0.3 // descriptions of parameters
)

// The constants of BM25, as they are commonly set: how soon more of the same
// word counts no more, and how much the length of a text counts.
const (
	saturation = 1.2
	lengthBias = 0.5
	// nameBonus is how much more an entry counts whose whole name is asked for.
	nameBonus = 0.5
)

// Index finds tools by words. Words are compared by their stems, so that
// plurals and forms of verbs match; a word of the query also matches words
// that it begins or that are a slip of the keyboard away, for less. It does
// not change and may be used by several goroutines.
type Index struct {
	entries  []Entry
	postings map[string][]posting // by stem
	stems    []string             // sorted
	lengths  []float64            // weighted words of each entry
	average  float64
	names    []map[string]bool // the stems of each entry's name
}

type posting struct {
	entry  int
	weight float64 // sum over the places where the stem is found
}

// NewIndex makes an index of the entries.
func NewIndex(entries []Entry) *Index {
	x := &Index{entries: entries, postings: map[string][]posting{}, lengths: make([]float64, len(entries))}
	for i, entry := range entries {
		weights := map[string]float64{}
		name := map[string]bool{}
		for _, word := range words(entry.Tool.Name) {
			name[word] = true
		}
		x.names = append(x.names, name)
		weigh := func(text string, weight float64) {
			for _, word := range words(text) {
				weights[word] += weight
				x.lengths[i] += weight
			}
		}
		weigh(entry.Tool.Name, nameWeight)
		if entry.Tool.Title != entry.Tool.Name {
			weigh(entry.Tool.Title, titleWeight)
		}
		weigh(entry.Server, serverWeight)
		weigh(entry.Tool.Description, descriptionWeight)
		for name, hint := range parameters(entry.Tool.InputSchema) {
			weigh(name, parameterWeight)
			weigh(hint, hintWeight)
		}
		for stem, weight := range weights {
			x.postings[stem] = append(x.postings[stem], posting{i, weight})
		}
		x.average += x.lengths[i] / float64(len(entries))
	}
	for stem := range x.postings {
		x.stems = append(x.stems, stem)
	}
	slices.Sort(x.stems)
	return x
}

// Search gives the entries that match best, best first, at most limit; without
// a word in the query, none. Equal scores are in the order of server and tool.
func (x *Index) Search(query string, limit int) []Hit {
	scores := map[int]float64{}
	matched := map[int]float64{}
	named := map[int]float64{} // words of each name that are asked for
	asked := slices.Compact(slices.Sorted(slices.Values(words(query))))
	for _, word := range asked {
		// An entry is as good for a word as its best match of it.
		best := map[int]float64{}
		inName := map[int]float64{}
		for stem, likeness := range x.like(word) {
			// A rare relative of a common word is no more telling than the word.
			rarity := x.rarity(stem)
			if len(x.postings[word]) > 0 {
				rarity = min(rarity, x.rarity(word))
			}
			for _, p := range x.postings[stem] {
				norm := saturation * (1 - lengthBias + lengthBias*x.lengths[p.entry]/x.average)
				best[p.entry] = max(best[p.entry], likeness*rarity*p.weight*(saturation+1)/(p.weight+norm))
				if x.names[p.entry][stem] {
					inName[p.entry] = max(inName[p.entry], likeness)
				}
			}
		}
		for entry, score := range best {
			scores[entry] += score
			matched[entry]++
			named[entry] += inName[entry]
		}
	}
	hits := make([]Hit, 0, len(scores))
	for entry, score := range scores {
		// Some of each word is better than much of one.
		part := matched[entry] / float64(len(asked))
		// A name of which every word is asked for is what is meant, rather than
		// one that has others beside.
		whole := min(named[entry]/float64(max(len(x.names[entry]), 1)), 1)
		hits = append(hits, Hit{x.entries[entry], score * (1 + part) / 2 * (1 + nameBonus*whole)})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool.Name, b.Tool.Name))
	})
	return hits[:min(len(hits), max(limit, 0))]
}

// rarity is how much a stem tells, less the more entries have it.
func (x *Index) rarity(stem string) float64 {
	with := float64(len(x.postings[stem]))
	return math.Log(1 + (float64(len(x.entries))-with+0.5)/(with+0.5))
}

// parameters gives the names of a tool's parameters with their descriptions.
func parameters(schema json.RawMessage) map[string]string {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	hints := make(map[string]string, len(object.Properties))
	for name, property := range object.Properties {
		var fields struct {
			Description json.RawMessage `json:"description"`
		}
		// A property may be a mere true or false.
		_ = json.Unmarshal(property, &fields)
		hints[name] = text(fields.Description)
	}
	return hints
}
