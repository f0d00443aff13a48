package bridge

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"bridge/sandbox"
)

// This file is what a result has beside its text: images, and links to what it
// has no room for.

const (
	maxImages     = 8       // images in a result
	maxImageBytes = 4 << 20 // bytes of them
	maxLinks      = 20      // links to files in a result

	// maxKept bounds the bytes of the files that are kept of one run. They
	// leave room in the cache.
	maxKept = 16 << 20

	// lastRead is how long the reading of them may take after the run's time.
	lastRead = 500 * time.Millisecond

	// wholeOutput is how much of each stream's beginning is kept to be linked
	// to, and as much of its end.
	wholeOutput = 512 << 10
)

// attachments are the blocks that follow the text of a result.
type attachments struct {
	images []sandbox.Image    // shown
	links  []mcp.ResourceLink // to all else
	files  []attachedFile     // as the structured content lists them
	cached []attachedLink     // likewise
	notes  []string           // what the text says of them
}

// attachedFile is a file of the session as the structured content has it.
type attachedFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	URI  string `json:"uri"`
}

// attachedLink is something else to be read, as the structured content has it.
type attachedLink struct {
	Name     string `json:"name"`
	MIMEType string `json:"mimeType"`
	Size     int64  `json:"size"`
	URI      string `json:"uri"`
}

// attach sorts what a run has left into what a result shows and what it links
// to.
func (r *Report) attach(s *resourceCache, run int) {
	a := &r.attachments
	linked, work := 0, 0
	for i, image := range r.Result.Images {
		l, err := look(image.Data)
		if err == nil {
			image.MIME = l.mime // whatever it was called
		}
		name := fmt.Sprintf("runs/%d/image-%d.%s", run, i+1, Extension(image.MIME))
		full := func() mcp.ResourceLink { return s.put(name, image.MIME, image.Data, path.Base(name)) }
		room := maxImageBytes - a.shown()
		if err != nil || len(a.images) == maxImages {
			a.link(full())
			linked++
			continue
		}
		if len(image.Data) <= room && max(l.width, l.height) <= maxSide {
			a.images = append(a.images, image)
			if r.format() == "json" {
				// Some clients hand on the structured content and nothing else.
				a.list(full())
			}
			continue
		}
		a.link(full())
		if work += l.cost; l.cost == 0 || work > maxScaled*maxDecode {
			linked++
			continue
		}
		small, size, err := scaled(image.Data, l, room)
		if err != nil {
			linked++
			continue
		}
		a.images = append(a.images, small)
		a.notes = append(a.notes, fmt.Sprintf("image %d is scaled down from %dx%d to %dx%d pixels, and linked as it was", i+1, l.width, l.height, size.X, size.Y))
	}
	if linked > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s linked as resources", count(linked, "more image is", "more images are")))
	}
	if n := r.Result.MoreImages; n > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s left out", count(n, "more image was", "more images were")))
	}
	if r.Profile.Session.Persist {
		r.attachFiles()
	}
	if n := len(r.Result.Saved); n == 1 {
		a.notes = append(a.notes, fmt.Sprintf("a figure was saved and not shown; display(%q) would show it", r.Result.Saved[0]))
	} else if n > 1 {
		a.notes = append(a.notes, fmt.Sprintf("figures were saved to %d files and not shown; display(%q) would show the first", n, r.Result.Saved[0]))
	}
	r.keepWhole(s, run)
}

// keepFiles puts the files of a session that ends with its run in the cache,
// and links to them there. The context bounds how long that may take.
func (r *Report) keepFiles(ctx context.Context, box *sandbox.Session, s *resourceCache, run int) {
	if r.Status == Cancelled {
		return // nobody is told
	}
	if ctx.Err() != nil {
		// The run has had its time. What is read at once is read all the same.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastRead)
		defer cancel()
	}
	a := &r.attachments
	size := 0
	for _, f := range r.Result.Files {
		if len(a.files) == maxLinks || size > maxKept {
			break
		}
		if int64(size)+f.Size > maxKept {
			continue
		}
		data, err := box.Read(ctx, f.Path)
		size += len(data)
		if err != nil || size > maxKept {
			continue
		}
		l := s.put(fmt.Sprintf("runs/%d/%s%s", run, workspace, f.Path), fileType(f.Path), data, f.Path)
		a.links = append(a.links, l)
		a.files = append(a.files, attachedFile{"/workspace/" + f.Path, int64(len(data)), l.URI})
	}
	if n := len(r.Result.Files) - len(a.files) + r.Result.MoreFiles; n > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s not kept: at most %d files, %s each and %s together, are kept of a run",
			count(n, "file of /workspace is", "files of /workspace are"), maxLinks, Size(sandbox.MaxRead), Size(maxKept)))
	}
}

func (r *Report) attachFiles() {
	a := &r.attachments
	for _, f := range r.Result.Files[:min(len(r.Result.Files), maxLinks)] {
		l := link(workspace+f.Path, fileType(f.Path), f.Path, f.Size)
		a.files = append(a.files, attachedFile{"/workspace/" + f.Path, f.Size, l.URI})
		a.links = append(a.links, l)
	}
	if n := len(r.Result.Files) - maxLinks + r.Result.MoreFiles; n > 0 && len(r.Result.Files) >= maxLinks {
		a.notes = append(a.notes, fmt.Sprintf("%s in /workspace", count(n, "more new or changed file is", "more new or changed files are")))
	}
}

// keepWhole puts in the cache what the text of a result has to cut.
func (r *Report) keepWhole(s *resourceCache, run int) {
	whole, cut := r.pieces(), r.pieces()
	fit(cut, r.budget())
	for i, name := range pieceNames {
		if cut[i].skipped == 0 {
			continue
		}
		name = fmt.Sprintf("runs/%d/%s.txt", run, name)
		r.attachments.link(s.put(name, "text/plain", []byte(whole[i].String()), path.Base(name)))
	}
}

// shown is how many bytes the images have that are shown.
func (a *attachments) shown() int {
	size := 0
	for _, i := range a.images {
		size += len(i.Data)
	}
	return size
}

// link adds a link to what is in the cache.
func (a *attachments) link(l mcp.ResourceLink) {
	a.links = append(a.links, l)
	a.list(l)
}

func (a *attachments) list(l mcp.ResourceLink) {
	a.cached = append(a.cached, attachedLink{l.Name, l.MIMEType, *l.Size, l.URI})
}

// blocks are the attachments as content of a result. Where the text is the
// structured content, it has the links.
func (r *Report) blocks() []mcp.Content {
	a := &r.attachments
	var list []mcp.Content
	for _, i := range a.images {
		list = append(list, mcp.NewImageContent(base64.StdEncoding.EncodeToString(i.Data), i.MIME))
	}
	if format := r.format(); format == "json" || format == "toon" {
		return list
	}
	for _, l := range a.links {
		list = append(list, l)
	}
	return list
}

// Extension is that of files with an image of the media type.
func Extension(kind string) string {
	switch kind {
	case "image/jpeg":
		return "jpg"
	case "image/svg+xml":
		return "svg"
	case "image/gif", "image/webp":
		return strings.TrimPrefix(kind, "image/")
	}
	return "png"
}

// count is a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
