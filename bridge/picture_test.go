package bridge

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// What a picture says of itself is known without decoding it.
func TestPicturesAreLookedAt(t *testing.T) {
	small := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	var asPNG, asJPEG, asGIF bytes.Buffer
	png.Encode(&asPNG, small)
	jpeg.Encode(&asJPEG, small, nil)
	gif.Encode(&asGIF, small, nil)
	pad := strings.Repeat("\x00", 20)
	webp := func(rest string) string { return "RIFF\x00\x00\x00\x00WEBP" + rest + pad }
	scans := strings.Replace(asJPEG.String(), "\xff\xda", strings.Repeat("\xff\xda", maxScans+1), 1)
	for name, c := range map[string]struct {
		data string
		want looked
	}{
		"png":           {asPNG.String(), looked{"image/png", 3, 2, 3 * 2 * 6}},
		"jpeg":          {asJPEG.String(), looked{"image/jpeg", 3, 2, 3 * 2 * 4}},
		"gif":           {asGIF.String(), looked{"image/gif", 3, 2, 3 * 2 * 6}},
		"many scans":    {scans, looked{"image/jpeg", 3, 2, 0}},
		"webp":          {webp("VP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x03\x00\x02\x00"), looked{"image/webp", 3, 2, 0}},
		"lossless webp": {webp("VP8L\x00\x00\x00\x00\x2f\x02\x40\x00\x00"), looked{"image/webp", 3, 2, 0}},
		"extended webp": {webp("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00"), looked{"image/webp", 3, 2, 0}},
	} {
		if got, err := look([]byte(c.data)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	for name, data := range map[string]string{"nothing": "", "words": "not a picture", "half a png": asPNG.String()[:20], "no webp": webp("VP9 ")} {
		if got, err := look([]byte(data)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A picture that is made smaller keeps its colours, and parts that cannot be seen
// through stay so.
func TestPicturesAreMadeSmaller(t *testing.T) {
	full := image.NewNRGBA(image.Rect(10, 10, 410, 20))
	for x := 10; x < 410; x++ {
		for y := 10; y < 20; y++ {
			if x < 210 {
				full.Set(x, y, color.NRGBA{uint8(x % 2 * 200), 100, 0, 255})
			}
		}
	}
	small := shrunk(full, image.Pt(4, 1))
	if left, right := small.RGBAAt(0, 0), small.RGBAAt(3, 0); left != (color.RGBA{100, 100, 0, 255}) || right != (color.RGBA{}) {
		t.Errorf("left %v, right %v", left, right)
	}
}

// Whatever is called a picture, looking at it and scaling it end in a picture
// that has room or an error, and take no more memory than was said.
func FuzzPicture(f *testing.F) {
	var b bytes.Buffer
	png.Encode(&b, image.NewGray16(image.Rect(0, 0, 5, 5)))
	f.Add(b.Bytes())
	b.Reset()
	jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 20, 20)), nil)
	f.Add(b.Bytes())
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X" + strings.Repeat("\xff", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := look(data)
		if err != nil {
			return
		}
		if l.width <= 0 || l.height <= 0 || l.cost > maxDecode {
			t.Fatalf("%+v", l)
		}
		if l.cost == 0 {
			return
		}
		small, size, err := scaled(data, l, 1<<20)
		if err == nil && (len(small.Data) > 1<<20 || max(size.X, size.Y) > scaledSide) {
			t.Errorf("%d bytes, %v", len(small.Data), size)
		}
	})
}
