package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"bridge/definition"
)

// Entry is a tool that can be found.
type Entry struct {
	Server string
	Tool   definition.Tool
}

// Hit is a tool that was found. Scores compare within one search only.
type Hit struct {
	Entry
	Score float64
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

// What an index takes of one tool, in bytes, and of all the tools of a server, in
// words: texts without end are no help to who searches.
const (
	maxText  = 4 << 10 // of a description
	maxHint  = 300     // of a parameter's
	maxWords = 300_000
	// leastWords is what an index takes of each tool, however many there are.
	leastWords = 16
	// maxAsked bounds the words of a query.
	maxAsked = 40
)

// Index is the words of one server's tools. Words are compared by their stems,
// so that plurals and forms of verbs match; a word of the query also matches
// words that it begins, that mean much the same or that are a slip of the
// keyboard away, for less. It does not change and may be used by several
// goroutines.
type Index struct {
	entries  []Entry
	postings map[string][]posting // by stem
	stems    []string             // sorted
	lengths  []float32            // weighted words of each entry
	total    float64              // the sum of these
	names    []map[string]bool    // the stems of each entry's name
}

type posting struct {
	entry  int32
	weight float32 // sum over the places where the stem is found
}

// NewIndex makes an index of a server's tools, of at most so many words, or of
// maxWords. It is given up when the context ends.
func NewIndex(ctx context.Context, entries []Entry, most int) (*Index, error) {
	x := &Index{entries: entries, postings: map[string][]posting{}, lengths: make([]float32, len(entries))}
	most = max(min(most, maxWords)/max(len(entries), 1), leastWords)
	for i, entry := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		x.add(i, entry, most)
	}
	for stem := range x.postings {
		x.stems = append(x.stems, stem)
	}
	slices.Sort(x.stems)
	return x, nil
}

// add takes the words of one entry, those that tell most first.
func (x *Index) add(i int, entry Entry, most int) {
	weights := map[string]float32{}
	weigh := func(text string, longest int, weight float32) {
		for _, word := range words(text[:min(len(text), longest)]) {
			if most == 0 {
				return
			}
			most--
			weights[word] += weight
			x.lengths[i] += weight
		}
	}
	weigh(entry.Tool.Name, maxText, nameWeight)
	name := make(map[string]bool, len(weights))
	for word := range weights {
		name[word] = true
	}
	x.names = append(x.names, name)
	if entry.Tool.Title != entry.Tool.Name {
		weigh(entry.Tool.Title, maxText, titleWeight)
	}
	weigh(entry.Server, maxText, serverWeight)
	hints := parameters(entry.Tool.InputSchema)
	named := slices.Sorted(maps.Keys(hints))
	for _, name := range named {
		weigh(name, maxHint, parameterWeight)
	}
	weigh(entry.Tool.Description, maxText, descriptionWeight)
	for _, name := range named {
		weigh(hints[name], maxHint, hintWeight)
	}
	for stem, weight := range weights {

		x.postings[stem] = append(x.postings[stem], posting{int32(i), weight})
	}
	x.total += float64(x.lengths[i])
}

// corpus is the indexes of a search, taken together.
type corpus struct {
	indexes []*Index
	entries float64
	average float64 // length of an entry
}

// Search gives the entries of all indexes that match best, best first, at most
// limit; without a word in the query, none. Equal scores are in the order of
// server and tool. It is given up when the context ends.
func Search(ctx context.Context, indexes []*Index, query string, limit int) ([]Hit, error) {
	c := corpus{indexes: indexes}
	for _, x := range indexes {
		c.entries += float64(len(x.entries))
		c.average += x.total
	}
	c.average /= max(c.entries, 1)
	asked := slices.Compact(slices.Sorted(slices.Values(words(query))))
	asked = asked[:min(len(asked), maxAsked)]
	founds := make([]map[int32]*found, len(indexes))
	for i := range founds {
		founds[i] = map[int32]*found{}
	}
	for _, word := range asked {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		likes := c.like(word, asked)
		for i, x := range indexes {
			c.match(x, word, likes, founds[i])
		}
	}
	var hits []Hit
	for i, x := range indexes {
		for entry, f := range founds[i] {
			// Some of each word is better than much of one.
			part := f.matched / float64(len(asked))
			// A name of which every word is asked for is what is meant, rather than
			// one that has others beside.
			whole := min(f.named/float64(max(len(x.names[entry]), 1)), 1)
			hits = append(hits, Hit{x.entries[entry], f.score * (1 + part) / 2 * (1 + nameBonus*whole)})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool.Name, b.Tool.Name))
	})
	return hits[:min(len(hits), max(limit, 0))], nil
}

// found is what a search has found out of one entry.
type found struct {
	score   float64
	matched float64 // words of the query
	named   float64 // words of the name that are asked for
	word    string  // that best and inName are of
	best    float64
	inName  float64
}

// match adds to each entry what one word of the query is worth: an entry is as
// good for a word as its best match of it.
func (c *corpus) match(x *Index, word string, likes map[string]likeness, into map[int32]*found) {
	for stem, like := range likes {
		for _, p := range x.postings[stem] {
			f := into[p.entry]
			if f == nil {
				f = &found{}
				into[p.entry] = f
			}
			if f.word != word {
				f.word, f.best, f.inName = word, 0, 0
				f.matched++
			}
			weight := float64(p.weight)
			norm := saturation * (1 - lengthBias + lengthBias*float64(x.lengths[p.entry])/c.average)
			if score := like.much * like.rarity * weight * (saturation + 1) / (weight + norm); score > f.best {
				f.score += score - f.best
				f.best = score
			}
			if x.names[p.entry][stem] && like.much > f.inName {
				f.named += like.much - f.inName
				f.inName = like.much
			}
		}
	}
}

// with is the number of entries that have a stem.
func (c *corpus) with(stem string) float64 {
	n := 0
	for _, x := range c.indexes {
		n += len(x.postings[stem])
	}
	return float64(n)
}

// rarity is how much a stem tells, less the more entries have it.
func (c *corpus) rarity(stem string) float64 {
	with := c.with(stem)
	return math.Log(1 + (c.entries-with+0.5)/(with+0.5))
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
