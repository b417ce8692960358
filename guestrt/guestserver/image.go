package guestserver

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// An image is the engine's image behind what error positions need:
//
//	magic (4) | version (1) | language (1) | map length (4, LE) | deflated source map | engine image
const (
	imageMagic   = "QGSI"
	imageVersion = 1
	imageHeader  = len(imageMagic) + 6
	// maxSourceMap bounds a source map once it is inflated.
	maxSourceMap = 64 << 20
)

var errImageFormat = errors.New("not an image of this version")

// image returns everything another worker needs to continue this guest, in at
// most so many bytes, or an engine.TooLargeError.
func (g *guest) image(most int) ([]byte, error) {
	if g.ended {
		return nil, errors.New("the program has ended")
	}
	sourceMap, err := deflate(g.at.sourceMap)
	if err != nil {
		return nil, err
	}
	ours := imageHeader + len(sourceMap)
	vm, err := g.vm.Snapshot(most - ours)
	var large *engine.TooLargeError
	if errors.As(err, &large) {
		return nil, &engine.TooLargeError{Bytes: ours + large.Bytes}
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, ours+len(vm))
	b = append(b, imageMagic...)
	b = append(b, imageVersion, byte(g.at.lang))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(sourceMap)))
	b = append(b, sourceMap...)
	return append(b, vm...), nil
}

// restoreGuest makes a guest of an image.
func restoreGuest(e engine.Engine, image []byte, l wire.Limits, files engine.Files) (*guest, error) {
	if len(image) < imageHeader || string(image[:len(imageMagic)]) != imageMagic || image[4] != imageVersion {
		return nil, errImageFormat
	}
	lang, n := language(image[5]), binary.LittleEndian.Uint32(image[6:])
	rest := image[imageHeader:]
	if uint64(n) > uint64(len(rest)) || lang > typescript {
		return nil, errImageFormat
	}
	sourceMap, err := inflate(rest[:n])
	if err != nil {
		return nil, err
	}
	o, err := options(l.Filled(), files)
	if err != nil {
		return nil, err
	}
	vm, err := e.Restore(rest[n:], o)
	if err != nil {
		return nil, err
	}
	return &guest{vm: vm, at: positions{lang: lang, sourceMap: sourceMap}}, nil
}

func deflate(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func inflate(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxSourceMap))
	if err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	return out, nil
}
