package bridge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // to be decoded
	"image/jpeg"
	"image/png"
	"sync"

	"bridge/sandbox"
)

// This file makes pictures such as agents can be shown. All of them are the
// guest's word: what they say of themselves is looked at before they are decoded.

const (
	maxSide    = 8000     // pixels of a side of a picture that is shown as it is
	scaledSide = 1568     // pixels of the longer side of one that is scaled down: models see no more
	maxDecode  = 64 << 20 // bytes of memory that the decoding of a picture may take
	maxScaled  = 2        // times maxDecode, for the pictures of a run
	maxScans   = 32       // of a JPEG: each goes over the whole picture
)

// looked is what a picture says of itself.
type looked struct {
	mime          string
	width, height int
	cost          int // bytes of memory that decoding it takes; 0 if it cannot be decoded here
}

// look reads the head of a picture.
func look(data []byte) (looked, error) {
	if len(data) > 30 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return lookWebP(data)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return looked{}, errors.New("no picture")
	}
	// An interlaced PNG is held one and a half times.
	each := 6
	switch {
	case c.ColorModel == color.NRGBA64Model || c.ColorModel == color.RGBA64Model:
		each = 12
	case format == "jpeg" && bytes.Contains(data, []byte{0xff, 0xc2}):
		each = 16 // a progressive one, with its coefficients
	case format == "jpeg":
		each = 4
	}
	l := looked{"image/" + format, c.Width, c.Height, 0}
	if c.Width <= maxDecode/each/c.Height && (format != "jpeg" || bytes.Count(data, []byte{0xff, 0xda}) <= maxScans) {
		l.cost = c.Width * c.Height * each
	}
	return l, nil
}

// lookWebP reads the head of a WebP, which nothing here decodes.
func lookWebP(data []byte) (looked, error) {
	l := looked{mime: "image/webp"}
	switch string(data[12:16]) {
	case "VP8 ":
		l.width, l.height = int(binary.LittleEndian.Uint16(data[26:]))&0x3fff, int(binary.LittleEndian.Uint16(data[28:]))&0x3fff
	case "VP8L":
		bits := int(binary.LittleEndian.Uint32(data[21:]))
		l.width, l.height = bits&0x3fff+1, bits>>14&0x3fff+1
	case "VP8X":
		l.width, l.height = int(binary.LittleEndian.Uint32(data[24:])&0xffffff)+1, int(binary.LittleEndian.Uint32(data[26:])>>8)+1
	}
	if l.width == 0 || l.height == 0 {
		return l, errors.New("no picture")
	}
	return l, nil
}

// decoding is held by the one picture that is decoded, so that the memory that
// decoding takes is bounded.
var decoding sync.Mutex

// scaled is a picture made so small that it can be shown in the bytes that are
// left.
func scaled(data []byte, l looked, room int) (small sandbox.Image, size image.Point, err error) {
	decoding.Lock()
	defer decoding.Unlock()
	defer func() {
		if p := recover(); p != nil { // a decoder met what its authors had not thought of
			err = fmt.Errorf("decoding: %v", p)
		}
	}()
	full, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return small, size, err
	}
	by := min(1, float64(scaledSide)/float64(max(l.width, l.height)))
	size = image.Pt(max(1, int(by*float64(l.width))), max(1, int(by*float64(l.height))))
	picture := shrunk(full, size)
	var b bytes.Buffer
	if l.mime != "image/jpeg" {
		if err := png.Encode(&b, picture); err == nil && b.Len() <= min(room, maxImageBytes/4) {
			return sandbox.Image{MIME: "image/png", Data: b.Bytes()}, size, nil
		}
		b.Reset()
	}
	paper := image.NewRGBA(picture.Bounds())
	draw.Draw(paper, paper.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), picture, image.Point{}, draw.Over)
	if err := jpeg.Encode(&b, paper, &jpeg.Options{Quality: 85}); err != nil {
		return small, size, err
	}
	if b.Len() > room {
		return small, size, errors.New("still too large")
	}
	return sandbox.Image{MIME: "image/jpeg", Data: b.Bytes()}, size, nil
}

// shrunk is a picture in a smaller size: each of its pixels is the mean of those
// that it stands for. No more than the rows of one are held at a time.
func shrunk(full image.Image, size image.Point) *image.RGBA {
	from, small := full.Bounds(), image.NewRGBA(image.Rectangle{Max: size})
	rows := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()/size.Y+1))
	for y := range size.Y {
		top, bottom := y*from.Dy()/size.Y, max((y+1)*from.Dy()/size.Y, y*from.Dy()/size.Y+1)
		draw.Draw(rows, rows.Bounds(), full, image.Pt(from.Min.X, from.Min.Y+top), draw.Src)
		for x := range size.X {
			left, right := x*from.Dx()/size.X, max((x+1)*from.Dx()/size.X, x*from.Dx()/size.X+1)
			var sum [4]int
			for row := range bottom - top {
				for at := rows.PixOffset(left, row); at < rows.PixOffset(right, row); at += 4 {
					for i := range sum {
						sum[i] += int(rows.Pix[at+i])
					}
				}
			}
			n := (right - left) * (bottom - top)
			at := small.PixOffset(x, y)
			for i := range sum {
				small.Pix[at+i] = uint8(sum[i] / n)
			}
		}
	}
	return small
}
